package session

import (
	"context"
	"fmt"
	"time"

	"tallyman/internal/ledger"
)

// watcher reads the sessions of all nodes, and buries the sessions of nodes that are gone. Only one goroutine uses it.
type watcher struct {
	*Keeper

	others map[string]bool // The sessions of other nodes at the last look.
	last   sighting
}

// sighting is a reading of the ledger's clock.
type sighting struct {
	session string    // Session of this node.
	shown   time.Time // Time by the ledger's clock.
	asked   time.Time // Time of the question by this machine's clock.
}

func (w *watcher) run(ctx context.Context) {
	tick := time.NewTicker(w.o.Lease / beats)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := w.look(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			w.log.Warn("List of nodes could not be read from the ledger. The node tries again.", "error", err)
		}
		failing = err != nil
	}
}

// look reads the sessions once, and buries those whose lease is over.
func (w *watcher) look(ctx context.Context) error {
	id, _ := w.Own()
	asked := time.Now()
	list, err := w.nodes(ctx)
	if err != nil {
		w.unsettle(id)
		return err
	}
	now := time.Now()
	isOver := false
	there := map[string]bool{}
	for i := range list {
		n := &list[i]
		if n.Session == id {
			w.compare(sighting{id, n.Seen.Add(w.o.Lease - n.Left), asked}, now)
			continue
		}
		there[n.Session] = true
		isOver = isOver || n.Left <= 0
	}
	if isOver && w.isSteady(id, now) {
		if err := w.bury(ctx, id, there); err != nil {
			return err
		}
	}
	w.tell(there)
	return w.freeAgain(ctx, now)
}

func (w *watcher) nodes(ctx context.Context) ([]ledger.Node, error) {
	ctx, done := context.WithTimeout(ctx, w.answerWithin())
	defer done()
	return w.o.Ledger.Nodes(ctx)
}

// compare compares the ledger's clock with the clock of this machine. If the ledger's clock jumped ahead, it shows
// leases of healthy nodes as ended. Then this node buries no session for the length of a lease, so that healthy nodes
// can renew their sessions.
func (w *watcher) compare(is sighting, answered time.Time) {
	was := w.last
	w.last = is
	if was.session == is.session && is.shown.Sub(was.shown) > answered.Sub(was.asked)+w.o.Lease/beats {
		w.unsettle(is.session)
	}
}

// unsettle records that other nodes may have been unable to renew their sessions.
func (k *Keeper) unsettle(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.own.id == id {
		k.own.steady = time.Time{}
	}
}

// isSteady tells whether the session was renewed without a gap for the length of a lease. In that time every healthy
// node could renew its session, so a session that is over belongs to a node that is gone.
func (k *Keeper) isSteady(id string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return id == k.own.id && k.holds() && !k.own.steady.IsZero() && now.Sub(k.own.steady) >= k.o.Lease
}

// bury ends the sessions whose lease is over, and removes the ids of these sessions from the parameter there, which is
// a map.
func (w *watcher) bury(ctx context.Context, id string, there map[string]bool) error {
	bounded, done := context.WithTimeout(ctx, buryWithin)
	defer done()
	ended, err := w.o.Ledger.BurySessions(bounded, id)
	if err != nil {
		return fmt.Errorf("bury a session: %w", err)
	}
	w.mu.Lock()
	for i := range ended {
		w.ended[ended[i].Session] = time.Now().Add(w.o.Lease)
	}
	w.mu.Unlock()
	for i := range ended {
		n := &ended[i]
		delete(there, n.Session)
		w.o.Observe(Buried)
		w.log.Warn("Session of another node ended: no renewal within its lease. Its firings, lanes and deliveries are free.",
			"node", n.Name, "session", n.Session, "seen", n.Seen, "lease", w.o.Lease)
	}
	return nil
}

// tell calls changed if a session of the last look is gone.
func (w *watcher) tell(there map[string]bool) {
	gone := false
	for id := range w.others {
		gone = gone || !there[id]
	}
	w.others = there
	if gone {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		changed()
	}
}

// freeAgain frees once more what ended sessions hold. At the end of a session some rows may have been locked, and a
// call that was under way may have claimed something just afterwards.
func (w *watcher) freeAgain(ctx context.Context, now time.Time) error {
	w.mu.Lock()
	var ids []string
	for id, until := range w.ended {
		ids = append(ids, id)
		if now.After(until) {
			delete(w.ended, id)
		}
	}
	w.mu.Unlock()
	bounded, done := context.WithTimeout(ctx, buryWithin)
	defer done()
	return w.o.Ledger.EndSessions(bounded, ids)
}
