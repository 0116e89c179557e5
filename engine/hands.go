package engine

import (
	"context"
	"sync"

	"tallyman/internal/ledger"
)

// hands are the scopes of rules of which this node claims or runs a firing just now.
type hands struct {
	mu    sync.Mutex
	count map[[2]string]int // by rule and scope
}

// take notes that the unit begins to claim; let says that it has ended.
func (h *hands) take(u *unit) (let func()) {
	of := [2]string{u.rule.ID, u.rule.Scope}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count == nil {
		h.count = map[[2]string]int{}
	}
	h.count[of]++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.count[of]--; h.count[of] == 0 {
			delete(h.count, of)
		}
	}
}

func (h *hands) have(u *unit) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count[[2]string{u.rule.ID, u.rule.Scope}] > 0
}

// regain gives back a firing that this node holds and does not run, and tells whether there was one: the answer to its
// claim was lost, or the ledger did not hear that the firing was given back. Without it the firing waits for the end of
// the claim's lease.
func (u *unit) regain(ctx context.Context, running *ledger.Claim) bool {
	session, _ := u.e.opts.Session.Own()
	if session == "" || running.Node != session || u.e.hands.have(u) {
		return false
	}
	u.logger().Warn("this node holds a firing that it does not run: it begins anew", "due", running.Due)
	return u.e.opts.Ledger.Release(ctx, *running) == nil
}
