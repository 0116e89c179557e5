package judge

import (
	"maps"
	"slices"
	"strings"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/rules"
	"tallyman/rules/deliver"
)

// ShadowSubscriber names whose inbox has the notices of a rule in shadow.
func ShadowSubscriber(rule string) string { return "shadow:" + rule }

// Channel is how notices are addressed to a sink.
type Channel struct {
	Inbox bool // has recipients, looked up in the commit
	Push  bool // a push channel: its deliveries go by the rule's strategies
	Each  bool // of a push channel: a delivery for each recipient
	// Address names what the address book must have of a recipient of Each; "" = nothing.
	Address string
}

// Address is where the notices of a rule go.
type Address struct {
	Live   []ledger.Target // the sinks that the rule names
	shadow []ledger.Target // an inbox of its own
	back   []ledger.Target // for resolutions: live and shadow, because a resolution goes only where its finding was told
}

// fallbackInbox is the sink of a shadow inbox where there is no inbox, as in a trial.
const fallbackInbox = "inbox"

// NewAddress addresses a rule to the sinks, which are given by their names.
func NewAddress(r *rules.Rule, sinks map[string]Channel) Address {
	name, ok := Inbox(sinks)
	if !ok {
		name = fallbackInbox
	}
	a := Address{
		Live:   targets(r, sinks),
		shadow: []ledger.Target{{Sink: name, Inbox: true, Recipients: []string{ShadowSubscriber(r.ID)}}},
	}
	a.back = backTargets(a.Live)
	if named := func(t ledger.Target) bool { return t.Sink == name }; (ok || r.Shadow) && !slices.ContainsFunc(a.Live, named) {
		a.back = append(a.back, a.shadow...)
	}
	return a
}

// Inbox names the sink that has recipients, if there is one.
func Inbox(sinks map[string]Channel) (name string, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(sinks)) {
		if sinks[name].Inbox {
			return name, true
		}
	}
	return "", false
}

// targets are the sinks of a rule as a commit wants them.
func targets(r *rules.Rule, sinks map[string]Channel) []ledger.Target {
	list := make([]ledger.Target, len(r.Deliver))
	for i := range r.Deliver {
		sink := sinks[r.Deliver[i].Sink]
		list[i] = ledger.Target{Sink: r.Deliver[i].Sink, Inbox: sink.Inbox, Each: sink.Each, Address: sink.Address}
		if sink.Push {
			list[i].Strategy = strategyOf(&r.Deliver[i])
		}
	}
	return list
}

func strategyOf(d *deliver.Entry) *delivery.Strategy {
	return &delivery.Strategy{
		Kind:  delivery.StrategyKind(d.Strategy.String()),
		Delay: d.Delay, Within: d.Within, Retry: d.Retry, Unless: delivery.Unless(d.Unless), Until: delivery.Until(d.Until),
	}
}

// backTargets are where resolutions go: to push channels by the same strategies, but at once, and nothing cancels them.
func backTargets(live []ledger.Target) []ledger.Target {
	list := make([]ledger.Target, len(live))
	for i, t := range live {
		if s := t.Strategy; s != nil {
			t.Strategy = &delivery.Strategy{Kind: s.Kind, Within: s.Within, Retry: s.Retry, Until: s.Until}
		}
		list[i] = t
	}
	return list
}

// to are the targets of a draft: those of the rule, less what does not apply to it, at its own times.
func (p *Pass) to(applied []rules.AppliedEntry) []ledger.Target {
	if p.shadow {
		return p.Address.shadow
	}
	live := p.Address.Live
	own := len(applied) != len(live)
	for _, a := range applied {
		own = own || !a.At.IsZero()
	}
	if !own {
		return live
	}
	list := make([]ledger.Target, len(applied))
	for i, a := range applied {
		list[i] = live[a.Entry]
		if s := list[i].Strategy; s != nil && !a.At.IsZero() {
			timed := *s
			timed.At = a.At
			list[i].Strategy = &timed
		}
	}
	return list
}

// everywhere are the targets of what is not about a row.
func (p *Pass) everywhere() []ledger.Target {
	if p.shadow {
		return p.Address.shadow
	}
	return p.Address.Live
}

// back are the targets of resolutions, should the rule be removed: none where the rule tells none, and none in shadow,
// where nobody was told.
func (p *Pass) back() []ledger.Target {
	if p.shadow || !p.Rule.Notice.SendResolved {
		return nil
	}
	return p.Address.back
}

// Silencer knows the silences that are in force.
type Silencer interface {
	// Holding returns the silences that are active at the time and match the subject. The silence with the latest end
	// is the first.
	Holding(at time.Time, about *silence.Subject) []silence.Holding
}

// mostSilences is how many of the silences that hold a finding back are recorded with it.
const mostSilences = 10

// silenced names the silences that hold back what is about to be told under the key, separated by spaces; "" = none
// does. Whether one is active is decided by the engine's clock when the run began. A rule in shadow disturbs nobody, so
// that nothing silences it.
func (p *Pass) silenced(key string, d *rules.NoticeDraft) string {
	if p.shadow {
		return ""
	}
	holding := p.Silencer.Holding(p.Started, Subject(p.Rule, d.Type.Code, d.Warehouse, key))
	ids := make([]string, min(len(holding), mostSilences))
	for i := range ids {
		ids[i] = holding[i].ID
	}
	return strings.Join(ids, " ")
}

// Subject is what silences are asked about: a notice of that type of the rule, in the warehouse, with the key of a
// finding or of a group.
func Subject(r *rules.Rule, typ, warehouse, key string) *silence.Subject {
	return &silence.Subject{Rule: r.ID, Type: typ, Warehouse: warehouse, Scope: r.Scope, Key: key, Labels: r.Labels}
}

// silenced counts the events that each silence has dropped.
func (r *Result) silenced() map[string]int {
	var counts map[string]int
	for _, e := range r.events {
		for id := range strings.FieldsSeq(e.by) {
			if counts == nil {
				counts = map[string]int{}
			}
			counts[id]++
		}
	}
	return counts
}
