package engine

import (
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/rules"
)

// targets are the sinks of a rule as a commit wants them.
func (o *Options) targets(r *rules.Rule) []ledger.Target {
	list := make([]ledger.Target, len(r.Deliver))
	for i := range r.Deliver {
		sink := o.Sinks[r.Deliver[i].Sink]
		list[i] = ledger.Target{Sink: r.Deliver[i].Sink, Inbox: sink.Inbox, Each: sink.Each}
		if sink.Push {
			list[i].Strategy = strategyOf(&r.Deliver[i])
		}
	}
	return list
}

func strategyOf(d *rules.Deliver) *delivery.Strategy {
	return &delivery.Strategy{
		Kind:  delivery.StrategyKind(d.Strategy.String()),
		Delay: d.Delay, Within: d.Within, Retry: d.Retry, Unless: delivery.Unless(d.Unless),
	}
}

// backTargets are where resolutions go: to push channels by the same strategies, but at once, and nothing cancels them.
func backTargets(live []ledger.Target) []ledger.Target {
	list := make([]ledger.Target, len(live))
	for i, t := range live {
		if s := t.Strategy; s != nil {
			t.Strategy = &delivery.Strategy{Kind: s.Kind, Within: s.Within, Retry: s.Retry}
		}
		list[i] = t
	}
	return list
}

// to are the targets of a draft: those of the rule, less what does not apply to it, at its own times.
func (p *pass) to(applied []rules.Applied) []ledger.Target {
	if p.shadow {
		return p.address.shadow
	}
	live := p.address.live
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
func (p *pass) everywhere() []ledger.Target {
	if p.shadow {
		return p.address.shadow
	}
	return p.address.live
}
