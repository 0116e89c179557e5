package push

import "context"

// grip is the session under which the loop claims and tries, for as long as the session is in force. What was claimed under one grip is not tried under another: the
// ledger may have given it to another node in between.
type grip struct {
	session string
	calls   context.Context //nolint:containedctx // of the calls; it ends with the grip
	over    <-chan struct{}
	let     func()
}

// regrip lets go of a session that is not in force any more, and takes one that is. What waits is given back; calls under way are cut off.
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

// lost is closed when the session is not in force any more; nil where there is none.
func (g *grip) lost() <-chan struct{} {
	if g == nil {
		return nil
	}
	return g.over
}
