package trace_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/internal/trace"
)

// Who configures no collector pays nothing.
func TestNoTracerCostsNothing(t *testing.T) {
	var none *trace.Tracer
	request := httptest.NewRequest(http.MethodGet, "/api/v1/status", http.NoBody)
	batch := []delivery.Delivery{{Notice: &notice.Notice{ID: "n_1"}}}
	failed := errors.New("away")
	allocs := testing.AllocsPerRun(100, func() {
		ctx, run := none.Run(t.Context(), &trace.Run{Rule: "a"})
		ctx, step := none.Step(ctx, "scan")
		step.Set()
		step.End(failed)
		ctx, end := none.Deliver(ctx, &trace.Call{Sink: "inbox", Batch: batch})
		end(failed)
		none.Sent(ctx, batch[0].Notice, time.Time{}, 1)
		_, answered := none.Request(request, "GET /api/v1/status")
		answered(http.StatusOK)
		run.Fail("x")
		run.End(nil)
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}
