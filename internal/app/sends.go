package app

import (
	"tallyman/engine"
	"tallyman/internal/api/send"
)

// sends is how business systems send notices through this node.
func (a *App) sends() send.Sends {
	targets := map[string]send.TargetKind{}
	for name, s := range a.sinks() {
		targets[name] = targetKind(&s)
	}
	return send.Sends{Send: a.ledger.Send, Sent: a.ledger.Sent, Wake: a.engine.Wake, Targets: targets, Now: a.opts.Clock.Now}
}

func targetKind(s *engine.Sink) send.TargetKind {
	switch {
	case s.Inbox:
		return send.TargetInbox
	case s.Each:
		return send.TargetEach
	case s.Push:
		return send.TargetPush
	default:
		return send.TargetQueue
	}
}
