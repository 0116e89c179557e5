package store

import (
	"context"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
)

// sessionStore is ledger.Sessions. Its statements, except HeldLanes, do not wait for other work of the process; see
// Engine.Aside.
type sessionStore struct{ *base }

// BeginSession implements ledger.Sessions.
func (s *sessionStore) BeginSession(ctx context.Context, n ledger.Node, lease time.Duration) error {
	_, err := s.db.Aside().Exec(ctx, "begin-session", n.Session, n.Name, n.Version, n.Rules, codec.Micros(n.Started), lease.Microseconds(), s.LeaseArg())
	return err
}

// RenewSession implements ledger.Sessions.
func (s *sessionStore) RenewSession(ctx context.Context, id, rules string, lease time.Duration) error {
	return FencedIfNone(s.db.Aside().Exec(ctx, "renew-session", id, rules, lease.Microseconds(), s.LeaseArg()))
}

// EndSessions implements ledger.Sessions.
func (s *sessionStore) EndSessions(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return s.db.Aside().InTx(ctx, "end sessions", func(tx Conn) error { return s.end(ctx, tx, ids) })
}

// end ends the sessions and frees what they own. A claim that comes later in the name of an ended session is
// protected only by the claim's own lease.
func (s *sessionStore) end(ctx context.Context, tx Conn, ids []string) error {
	for _, name := range []string{"end-sessions", "free-firings", "free-lanes", "free-indexes"} {
		if _, err := tx.Exec(ctx, name, ids); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, "free-pushes", ids, s.NowArg())
	return err
}

// BurySessions implements ledger.Sessions.
func (s *sessionStore) BurySessions(ctx context.Context, self string) (ended []ledger.Node, err error) {
	err = s.db.Aside().InTx(ctx, "bury sessions", func(tx Conn) error {
		var row codec.Node
		ended, err = list(ctx, tx, "over-sessions", []any{self, s.LeaseArg()}, row.Columns(), func() (ledger.Node, error) { return row.Node(), nil })
		if err != nil || len(ended) == 0 {
			return err
		}
		ids := make([]string, len(ended))
		for i := range ended {
			ids[i] = ended[i].Session
		}
		return s.end(ctx, tx, ids)
	})
	if err != nil {
		return nil, err
	}
	return ended, nil
}

// Nodes implements ledger.Nodes.
func (s *sessionStore) Nodes(ctx context.Context) ([]ledger.Node, error) {
	var row codec.Node
	return list(ctx, s.db.Aside(), "nodes", []any{s.LeaseArg()}, row.Columns(), func() (ledger.Node, error) { return row.Node(), nil })
}

// HeldLanes implements ledger.Nodes.
func (s *sessionStore) HeldLanes(ctx context.Context) ([]ledger.HeldLane, error) {
	var lane ledger.HeldLane
	targets := []any{&lane.Session, &lane.Sink, &lane.Warehouse}
	return list(ctx, s.db, "held-lanes", []any{s.LeaseArg()}, targets, func() (ledger.HeldLane, error) { return lane, nil })
}
