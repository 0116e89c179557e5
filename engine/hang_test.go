package engine_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"tallyman/engine/enginetest"
	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// hung is a ledger that does not answer while its field hangs is set.
type hung struct {
	*enginetest.Ledger
	hangs cell[bool]
	plans cell[bool]   // plans alone
	call  cell[string] // the call of that name alone
}

// stays waits while the call hangs.
func (h *hung) stays(ctx context.Context, call string) error {
	if h.call.get() != call {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (h *hung) Findings(ctx context.Context, rule, scope string) ([]finding.State, error) {
	if err := h.stays(ctx, "Findings"); err != nil {
		return nil, err
	}
	return h.Ledger.Findings(ctx, rule, scope)
}

func (h *hung) Notices(ctx context.Context, ids []string) (map[string]*notice.Notice, error) {
	if err := h.stays(ctx, "Notices"); err != nil {
		return nil, err
	}
	return h.Ledger.Notices(ctx, ids)
}

func (h *hung) Open(ctx context.Context, rule, scope string) (*finding.Open, error) {
	if err := h.stays(ctx, "Open"); err != nil {
		return nil, err
	}
	return h.Ledger.Open(ctx, rule, scope)
}

// answers waits while the ledger hangs.
func (h *hung) answers(ctx context.Context) error {
	if !h.hangs.get() {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (h *hung) Claim(ctx context.Context, rule, scope string, term int64, due time.Time, node string, lease time.Duration) (ledger.Claim, error) {
	if err := h.answers(ctx); err != nil {
		return ledger.Claim{}, err
	}
	return h.Ledger.Claim(ctx, rule, scope, term, due, node, lease)
}

func (h *hung) TypesVersion(ctx context.Context) (int64, error) {
	if err := h.answers(ctx); err != nil {
		return 0, err
	}
	return h.Ledger.TypesVersion(ctx)
}

func (h *hung) PendingLanes(ctx context.Context, sink string) ([]delivery.Lane, error) {
	if err := h.answers(ctx); err != nil {
		return nil, err
	}
	return h.Ledger.PendingLanes(ctx, sink)
}

func (h *hung) LastPlan(ctx context.Context, rule, scope string) (ledger.ProbePlan, error) {
	if h.plans.get() {
		<-ctx.Done()
		return ledger.ProbePlan{}, ctx.Err()
	}
	return h.Ledger.LastPlan(ctx, rule, scope)
}

// A connection that is cut silently neither answers nor fails.
func TestLedgerThatHangsIsAskedAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		h := &hung{Ledger: w.ledger}
		o := w.options("a")
		o.Ledger = h
		w.set(stock("A-01", -3))
		w.start(o)
		pass(4 * m)
		h.hangs.set(true)
		pass(3 * m)
		h.hangs.set(false)
		pass(time.Minute + 10*time.Second) // who asked just before asks again after a lease
		w.wantDues("5 ok")
		if got := w.told(); !slices.Equal(got, []string{"firing Bin A-01 is at -3"}) {
			t.Errorf("told %q", got)
		}
	})
}

// A read of plans between two runs that hangs does not delay the next run for ever.
func TestLedgerThatHangsOverAPlan(t *testing.T) {
	inWorld(t, func(w *world) {
		_, _, _, source := w.costed(200)
		h := &hung{Ledger: w.ledger}
		o := w.options("a")
		o.Ledger, o.Sources["wms"] = h, source
		w.set(stock("A-01", -3))
		w.start(o)
		pass(6 * m)
		h.plans.set(true)
		pass(4*m + 10*time.Second) // the plan is read again at 10
		h.plans.set(false)
		pass(time.Minute)
		w.wantDues("5 ok", "10 ok")
	})
}

// A read that hangs while a removed rule is closed, or in a run whose claim is renewed meanwhile, ends, and is asked
// again.
func TestLedgerThatHangsOverARead(t *testing.T) {
	for _, call := range []string{"Findings", "Notices", "Open"} {
		t.Run(call, func(t *testing.T) {
			inWorld(t, func(w *world) {
				h := &hung{Ledger: w.ledger}
				o := w.options("a")
				o.Ledger = h
				w.set(stock("A-01", -3))
				n := w.start(o)
				if call == "Open" {
					h.call.set(call)
				}
				pass(6 * m)
				h.call.set(call)
				if call != "Open" {
					w.without(n)
				}
				pass(time.Second)
				h.call.set("")
				pass(10 * worldLease)
				pass(2 * time.Minute)
				got := w.told()
				if call == "Open" && !slices.Equal(got, []string{"firing Bin A-01 is at -3"}) || call != "Open" && len(got) != 2 {
					t.Errorf("told %q", got)
				}
			})
		})
	}
}
