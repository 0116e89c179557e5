package app

import (
	"tallyman/engine"
	"tallyman/internal/api"
)

// sends is how business systems send notices through this node.
func (a *App) sends() api.Sends {
	targets := map[string]api.TargetKind{}
	for name, s := range a.sinks() {
		targets[name] = targetKind(&s)
	}
	return api.Sends{Send: a.ledger.Send, Sent: a.ledger.Sent, Wake: a.engine.Wake, Targets: targets, Now: a.opts.Clock.Now}
}

func targetKind(s *engine.Sink) api.TargetKind {
	switch {
	case s.Inbox:
		return api.TargetInbox
	case s.Each:
		return api.TargetEach
	case s.Push:
		return api.TargetPush
	default:
		return api.TargetQueue
	}
}
