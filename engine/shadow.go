package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
)

// ShadowSubscriber names whose inbox has the notices of a rule in shadow.
func ShadowSubscriber(rule string) string { return "shadow:" + rule }

// address is where the notices of a rule go.
type address struct {
	live   []ledger.Target // the sinks that the rule names
	shadow []ledger.Target // an inbox of its own
	back   []ledger.Target // of resolutions: both, since each goes only where its finding was told
}

// fallbackInbox is the sink of a shadow inbox where the engine has none, as in a trial.
const fallbackInbox = "inbox"

func (o *Options) address(r *rules.Rule) address {
	name, ok := o.inbox()
	if !ok {
		name = fallbackInbox
	}
	a := address{
		live:   o.targets(r),
		shadow: []ledger.Target{{Sink: name, Inbox: true, Recipients: []string{ShadowSubscriber(r.ID)}}},
	}
	a.back = backTargets(a.live)
	if named := func(t ledger.Target) bool { return t.Sink == name }; (ok || r.Shadow) && !slices.ContainsFunc(a.live, named) {
		a.back = append(a.back, a.shadow...)
	}
	return a
}

// inbox names the sink that has recipients.
func (o *Options) inbox() (string, bool) {
	for _, name := range slices.Sorted(maps.Keys(o.Sinks)) {
		if o.Sinks[name].Inbox {
			return name, true
		}
	}
	return "", false
}

// demoteAfter is how long a node runs a rule that is no longer in shadow before its promotion is forgotten. Until then a node
// that still has the old file, as while a cluster is restarted node by node, goes on telling what it finds.
const demoteAfter = 10 * time.Minute

// demote forgets the promotion of a rule whose file has left shadow behind: should it return there, it is in shadow again.
func (p *pass) demote(ctx context.Context, known *ledger.ScopeState) {
	if p.rule.Shadow || known.Promoted.IsZero() || p.started.Sub(p.since) < demoteAfter {
		return
	}
	who := ledger.Author{By: "node:" + p.e.opts.Node, Via: ledger.ViaFile}
	if err := p.e.opts.Ledger.Demote(ctx, who, p.rule.ID, p.rule.Scope); err != nil {
		p.log.Warn("the promotion of a rule that is not in shadow any more could not be forgotten; the next run tries again", "error", err)
		return
	}
	p.log.Info("the rule's file has no shadow any more: its promotion is forgotten", "promoted", known.Promoted)
}
