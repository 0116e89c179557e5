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

// ShadowSubscriber returns the subscriber whose inbox gets the notices of a rule in shadow.
func ShadowSubscriber(rule string) string { return "shadow:" + rule }

// Channel is how notices are addressed to a sink.
type Channel struct {
	Inbox bool // The sink is the inbox: it has recipients, which the commit looks up.
	Push  bool // The sink is a push channel: its deliveries follow the rule's strategies.
	Each  bool // The push channel gets a delivery for each recipient.
	// Address names the entry that a recipient of an Each channel must have in the address book. Empty means none.
	Address string
}

// Address is where the notices of a rule go.
type Address struct {
	Live   []ledger.Target // The sinks of a live rule.
	shadow []ledger.Target // The shadow inbox of the rule.
	back   []ledger.Target // The targets of resolutions: Live, and shadow where it applies. A resolution goes only where its firing notice went.
}

// fallbackInbox is the sink of the shadow inbox where no inbox is configured, as in a trial.
const fallbackInbox = "inbox"

// NewAddress addresses a rule to its sinks. The map is keyed by sink.
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

// Inbox returns the name of the inbox, if there is one.
func Inbox(sinks map[string]Channel) (name string, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(sinks)) {
		if sinks[name].Inbox {
			return name, true
		}
	}
	return "", false
}

// targets converts the sinks of a rule to targets of a commit.
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

// backTargets returns the targets of resolutions. Push channels get resolutions by the same strategies, but without
// delay and without the conditions that cancel a delivery.
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

// to returns the targets of a draft: the rule's targets that apply to the draft, at the times that the draft sets.
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

// everywhere returns the targets of a digest.
func (p *Pass) everywhere() []ledger.Target {
	if p.shadow {
		return p.Address.shadow
	}
	return p.Address.Live
}

// back returns the targets of resolutions for the case that the rule is removed. There are none where the rule has no
// send_resolved, and none in shadow, where only the shadow inbox got notices.
func (p *Pass) back() []ledger.Target {
	if p.shadow || !p.Rule.Notice.SendResolved {
		return nil
	}
	return p.Address.back
}

// Silencer knows the silences that are in force.
type Silencer interface {
	// Holding returns the silences that are active at the time and match the subject. The silence with the latest end
	// comes first.
	Holding(at time.Time, about *silence.Subject) []silence.Holding
}

// mostSilences is the largest number of silences that are recorded with a finding that they withhold.
const mostSilences = 10

// silenced returns the ids of the silences that withhold a notice with the key, separated by spaces. Empty means no
// silence does. Only silences that were active when the pass began count, on the engine's clock. Nothing silences a
// rule in shadow, because its notices disturb nobody.
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

// Subject describes a notice to the silences: its rule, type and warehouse, and the key of its finding or group.
func Subject(r *rules.Rule, typ, warehouse, key string) *silence.Subject {
	return &silence.Subject{Rule: r.ID, Type: typ, Warehouse: warehouse, Scope: r.Scope, Key: key, Labels: r.Labels}
}

// silenced returns how many events each silence has dropped, keyed by the id of the silence.
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
