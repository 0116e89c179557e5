package engine

import (
	"context"
	"sync"

	"tallyman/internal/ledger"
)

// hands counts the firings that this node claims or runs now.
type hands struct {
	mu    sync.Mutex
	count map[[2]string]int // Keyed by rule and scope.
}

// take counts a firing of the unit, from before its claim. The caller calls drop when the firing has ended.
func (h *hands) take(u *unit) (drop func()) {
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

// have tells whether this node claims or runs a firing of the unit's rule in its scope.
func (h *hands) have(u *unit) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count[[2]string{u.rule.ID, u.rule.Scope}] > 0
}

// regain gives back a firing that this node holds according to the ledger, but does not run. The cause of such a firing
// is that the answer to a claim, or the release of a firing, was lost on the way. Without regain the firing would wait
// for the end of the claim's lease. regain returns whether it gave a firing back.
func (u *unit) regain(ctx context.Context, running *ledger.Claim) bool {
	session, _ := u.e.opts.Session.Own()
	if session == "" || running.Node != session || u.e.hands.have(u) {
		return false
	}
	log := u.logger().With("due", running.Due)
	if err := u.e.opts.Ledger.Release(ctx, *running); err != nil {
		log.Warn("The ledger says that this node holds a firing, but the node does not run it. The ledger did not take the firing back. The node tries again soon.", "error", err)
		return false
	}
	log.Warn("The ledger says that this node holds a firing, but the node does not run it. The firing begins again.")
	return true
}
