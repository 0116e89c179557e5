package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

const historyPath = overviewPath + "/history"

func readHistory(t *testing.T, got answer) (h wire.HistoryForm) {
	t.Helper()
	if err := json.Unmarshal([]byte(got.body), &h); err != nil || got.status != http.StatusOK {
		t.Fatalf("%d %s: %v", got.status, got.body, err)
	}
	return h
}

// sums are the notices of a history, and the highest values of its samples.
func sums(h *wire.HistoryForm) (notices, urgent int64, top wire.HistoryFiguresForm) {
	for _, p := range h.Points {
		notices, urgent = notices+p.Notices, urgent+p.Urgent
		if p.Looked != nil {
			top.Firing, top.Waiting = max(top.Firing, p.Looked.Firing), max(top.Waiting, p.Looked.Waiting)
			top.WaitingP50, top.WaitingP99 = max(top.WaitingP50, p.Looked.WaitingP50), max(top.WaitingP99, p.Looked.WaitingP99)
		}
	}
	return notices, urgent, top
}

// TestHistory samples for a day and a half, and reads the three lengths of points.
func TestHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		now := func() time.Time { return bin().CreatedAt.Add(time.Since(began)) }
		f := newFakeOverview()
		f.open = []ledger.RuleFindings{{Warehouse: "119240", Rule: "negative-bin-stock", Firing: 7, Pending: 2}, {Warehouse: "119241", Rule: "negative-bin-stock", Firing: 3}}
		f.waiting = []ledger.WaitingDelivery{{Warehouse: "119240", Type: "REP_NOTICE", Since: bin().CreatedAt.Add(-time.Minute)}}
		b := newBundle(f.overviewing(now), func(d *parts) { d.Auth = bearer{"one": narrow("119240")} })
		ctx, stop := context.WithCancel(t.Context())
		go b.deps.overview.Sample(ctx)
		pass(30 * time.Minute)
		f.change(func() {
			f.made = append(f.made, ledger.NoticeCount{Start: now().Truncate(time.Minute), Warehouse: "119241", Type: "REP_NOTICE", Count: 6, Urgent: 1})
		})
		pass(5 * time.Minute)

		hour := readHistory(t, b.handle(t, historyPath))
		notices, urgent, top := sums(&hour)
		if hour.StepSeconds != 60 || len(hour.Points) != 60 || notices != 9 || urgent != 2 || top.Firing != 10 || top.Waiting != 1 {
			t.Errorf("an hour: %d s, %d points, %d notices, %d urgent, %+v", hour.StepSeconds, len(hour.Points), notices, urgent, top)
		}
		if top.WaitingP99 < 30*60 || top.WaitingP99 > 3600 {
			t.Errorf("a delivery that has waited for 36 minutes is %v s old", top.WaitingP99)
		}
		if !slices.Equal(hour.Warehouses, []wire.HistoryShareForm{{Name: "119240"}, {Name: "119241", Notices: 9}}) || hour.Sampled == nil {
			t.Errorf("warehouses %v, sampled %v", hour.Warehouses, hour.Sampled)
		}
		if looked := hour.Points[0].Looked; looked != nil {
			t.Errorf("before the first sample: %+v", looked)
		}

		mine := readHistory(t, b.handle(t, historyPath, "Authorization", "one"))
		if notices, _, top := sums(&mine); notices != 0 || top.Firing != 7 || !slices.Equal(mine.Warehouses, []wire.HistoryShareForm{{Name: "119240"}}) {
			t.Errorf("of one warehouse: %d notices, %+v, %v", notices, top, mine.Warehouses)
		}
		typed := readHistory(t, b.handle(t, historyPath+"?type=REP_NOTICE&warehouse=119241"))
		if notices, _, _ := sums(&typed); notices != 6 || !slices.Contains(typed.Types, wire.HistoryShareForm{Name: "REP_NOTICE", Notices: 6}) {
			t.Errorf("of one type: %d notices, of %v", notices, typed.Types)
		}

		pass(36 * time.Hour)
		at := func(ago time.Duration) string { return now().Add(-ago).UTC().Format(time.RFC3339) }
		day := readHistory(t, b.handle(t, historyPath+"?from="+at(24*time.Hour)))
		if _, _, top := sums(&day); day.StepSeconds != 600 || len(day.Points) < 144 || top.Firing != 10 {
			t.Errorf("a day: %d s, %d points, %+v", day.StepSeconds, len(day.Points), top)
		}
		week := readHistory(t, b.handle(t, historyPath+"?from="+at(7*24*time.Hour)))
		notices, urgent, top = sums(&week)
		if week.StepSeconds != 3600 || notices != 120 || urgent != 105 || top.Firing != 10 {
			t.Errorf("a week: %d s, %d notices, %d urgent, %+v", week.StepSeconds, notices, urgent, top)
		}
		mine = readHistory(t, b.handle(t, historyPath+"?from="+at(7*24*time.Hour), "Authorization", "one"))
		if notices, _, _ := sums(&mine); notices != 106 {
			t.Errorf("a week of one warehouse: %d notices", notices)
		}
		if n := len(f.kept[time.Minute]); n > 3*60+1 {
			t.Errorf("%d minutes are kept", n)
		}
		stop()
		synctest.Wait()
	})
}

func TestHistoryRefusals(t *testing.T) {
	t.Parallel()
	b := newBundle(newFakeOverview().overviewing(func() time.Time { return bin().CreatedAt }), func(d *parts) { d.Auth = bearer{"one": narrow("119240")} })
	for query, code := range map[string]string{
		"?from=yesterday": "invalid_parameter", "?from=2026-07-01T00:00:00Z": "invalid_parameter", "?from=2026-05-02T00:00:00Z&to=2026-05-01T00:00:00Z": "invalid_parameter",
		"?warehouse=119241": "warehouse_denied", "?step=1": "unknown_parameter",
	} {
		if got := b.handle(t, historyPath+query, "Authorization", "one"); got.status < 400 || got.asProblem(t).Code != code {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
}

// TestASampleThatFailsIsCounted cuts the ledger off while samples are due.
func TestASampleThatFailsIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeOverview()
		f.broken = errBroken
		b := newBundle(f.overviewing(func() time.Time { return bin().CreatedAt }))
		ctx, stop := context.WithCancel(t.Context())
		go b.deps.overview.Sample(ctx)
		synctest.Wait()
		if !slices.Contains(b.meter.all(), "unsampled") {
			t.Errorf("it was not counted: %v", b.meter.all())
		}
		stop()
		synctest.Wait()
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	f := newFakeOverview()
	at := bin().CreatedAt
	f.failed = []ledger.Run{
		{Rule: "a", Scope: "119240", Due: at.Add(-time.Minute), Outcome: ledger.OutcomeFailed, Error: "probe_timeout: the row 7"},
		{Rule: "b", Due: at.Add(-2 * time.Minute), Outcome: ledger.OutcomeFailed, Error: "probe_timeout: the row 8"},
		{Rule: "c", Scope: "119241", Due: at.Add(-3 * time.Minute), Outcome: ledger.OutcomeFailed},
		{Rule: "a", Scope: "119240", Due: at.Add(-2 * time.Hour), Outcome: ledger.OutcomeFailed},
	}
	b := newBundle(f.overviewing(func() time.Time { return at }), func(d *parts) { d.Auth = bearer{"one": narrow("119240")} })
	read := func(token, query string) (list []wire.FailureForm) {
		got := b.handle(t, overviewPath+"/failures"+query, "Authorization", token)
		var form wire.FailuresForm
		if err := json.Unmarshal([]byte(got.body), &form); err != nil || got.status != http.StatusOK {
			t.Fatalf("%d %s: %v", got.status, got.body, err)
		}
		return form.Runs
	}
	if got := read("", ""); len(got) != 3 || got[0].Error != "probe_timeout: the row 7" {
		t.Errorf("all: %+v", got)
	}
	if got := read("", "?since=1d"); len(got) != 4 {
		t.Errorf("of a day: %+v", got)
	}
	if got := read("one", ""); len(got) != 2 || got[1].Error != "probe_timeout" {
		t.Errorf("of one warehouse: %+v", got)
	}
	if got := b.handle(t, overviewPath+"/failures?since=soon"); got.asProblem(t).Code != "bad_since" {
		t.Errorf("since soon: %d %s", got.status, got.body)
	}
}
