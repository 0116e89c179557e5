package push

import "context"

// grip is the session under which the loop claims and tries deliveries, as long as the session is in force. Deliveries
// claimed under one grip are not tried under another, because the ledger may have given them to another node in
// between.
type grip struct {
	session string
	calls   context.Context //nolint:containedctx // of the calls; it ends with the grip
	over    <-chan struct{}
	let     func()
}

// regrip drops a session that has ended, and takes a new one. Waiting deliveries are released; calls under way are cut
// off.
func (l *loop) regrip(calls context.Context) {
	if l.grip != nil && !l.o.Session.Holds(l.grip.session) {
		l.grip.let()
		l.grip = nil
		l.releaseWaiting()
	}
	if l.grip != nil || l.stop.begun {
		return
	}
	id, lapsed := l.o.Session.Hold()
	if id == "" {
		return
	}
	ctx, cut := context.WithCancelCause(calls)
	go func() {
		select {
		case <-lapsed:
			cut(errCut)
		case <-ctx.Done():
		}
	}()
	l.grip = &grip{session: id, calls: ctx, over: lapsed, let: func() { cut(errCut) }}
}

// lost returns a channel that is closed when the session ends, or nil if there is no session.
func (g *grip) lost() <-chan struct{} {
	if g == nil {
		return nil
	}
	return g.over
}
