package enginetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

// sessionRow is a session of a node.
type sessionRow struct {
	ledger.Node

	lease time.Duration
}

func (s *sessionRow) at(now time.Time) ledger.Node {
	n := s.Node
	n.Left = n.Seen.Add(s.lease).Sub(now)
	return n
}

// BeginSession records a session.
func (l *sessionStore) BeginSession(ctx context.Context, n ledger.Node, lease time.Duration) error {
	leave, err := l.enter(ctx, "BeginSession")
	if err != nil {
		return err
	}
	defer leave()
	n.Seen, n.Changed = l.now(), l.now()
	l.sessions[n.Session] = &sessionRow{n, lease}
	return nil
}

// RenewSession renews the lease.
func (l *sessionStore) RenewSession(ctx context.Context, id, rules string, lease time.Duration) error {
	leave, err := l.enter(ctx, "RenewSession")
	if err != nil {
		return err
	}
	defer leave()
	s := l.sessions[id]
	if s == nil {
		return ledger.ErrFenced
	}
	if s.Rules != rules {
		s.Rules, s.Changed = rules, l.now()
	}
	s.Seen, s.lease = l.now(), lease
	return nil
}

// EndSessions ends the sessions, and frees their firings and lanes.
func (l *sessionStore) EndSessions(ctx context.Context, ids []string) error {
	leave, err := l.enter(ctx, "EndSessions")
	if err != nil {
		return err
	}
	defer leave()
	l.end(ids)
	return nil
}

func (l *sessionStore) end(ids []string) {
	for _, id := range ids {
		delete(l.sessions, id)
	}
	for _, s := range l.scopes {
		if s.running != nil && slices.Contains(ids, s.running.Node) && !s.running.LeaseUntil.IsZero() {
			s.token++
			s.running.Token, s.running.LeaseUntil = s.token, time.Time{}
		}
	}
	maps.DeleteFunc(l.lanes, func(_ delivery.Lane, held laneLock) bool { return slices.Contains(ids, held.node) })
}

// BurySessions ends the sessions of other nodes whose leases have ended.
func (l *sessionStore) BurySessions(ctx context.Context, self string) ([]ledger.Node, error) {
	leave, err := l.enter(ctx, "BurySessions")
	if err != nil {
		return nil, err
	}
	defer leave()
	if own := l.sessions[self]; own == nil || own.at(l.now()).Left <= 0 {
		return nil, nil
	}
	var ended []ledger.Node
	var ids []string
	for _, n := range l.all() {
		if n.Left <= 0 {
			ended, ids = append(ended, n), append(ids, n.Session)
		}
	}
	l.end(ids)
	return ended, nil
}

// Nodes returns the sessions.
func (l *sessionStore) Nodes(ctx context.Context) ([]ledger.Node, error) {
	leave, err := l.enter(ctx, "Nodes")
	if err != nil {
		return nil, err
	}
	defer leave()
	return l.all(), nil
}

func (l *sessionStore) all() (list []ledger.Node) {
	for _, s := range l.sessions {
		list = append(list, s.at(l.now()))
	}
	slices.SortFunc(list, func(a, b ledger.Node) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Session, b.Session))
	})
	return list
}

// HeldLanes returns the lanes that sessions hold.
func (l *sessionStore) HeldLanes(ctx context.Context) ([]ledger.HeldLane, error) {
	leave, err := l.enter(ctx, "HeldLanes")
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []ledger.HeldLane
	for lane, held := range l.lanes {
		if l.now().Before(held.until) {
			list = append(list, ledger.HeldLane{Lane: lane, Session: held.node})
		}
	}
	slices.SortFunc(list, func(a, b ledger.HeldLane) int {
		return cmp.Or(cmp.Compare(a.Sink, b.Sink), cmp.Compare(a.Warehouse, b.Warehouse))
	})
	return list, nil
}
