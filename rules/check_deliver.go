package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// checkDeliver holds the rule's deliver against the configured sinks and the life of its notices.
func checkDeliver(r *Rule, known Known) problem.List {
	var l problem.List
	inbox := slices.ContainsFunc(r.Deliver, func(d Deliver) bool { return known.Sinks[d.Sink] == inboxSink })
	life := cmp.Or(r.Notice.Expires, known.Types[r.Notice.Type].Retention)
	for i, d := range r.Deliver {
		typ, ok := known.Sinks[d.Sink]
		switch {
		case !ok:
			l = append(l, r.Problem(deliverPath(i, "sink"), CodeUnknownSink, fmt.Sprintf("no sink %q is configured", d.Sink),
				nearest(d.Sink, slices.Sorted(maps.Keys(known.Sinks)), "sinks")))
		case !PushSink(typ) && (d.Strategy == StrategyDelayed || d.Strategy == StrategyTimed):
			l = append(l, r.Problem(deliverPath(i, "strategy"), CodeStrategySink,
				fmt.Sprintf("the sink %s is of type %s, which is tried at once and until it has taken a notice: strategy %s is for push channels", d.Sink, typ, d.Strategy),
				strategyHint(d, known)))
		case !inbox && (d.Unless == UnlessRead || d.Unless == UnlessAcked):
			l = append(l, r.Problem(deliverPath(i, "unless"), CodeUnread,
				fmt.Sprintf("unless: %s cancels nothing, as the notices go to no inbox where they could be %s", d.Unless, d.Unless),
				"deliver to the inbox as well, or remove unless"))
		case life > 0 && d.At == "" && d.Delay >= life:
			l = append(l, r.Problem(deliverPath(i, "delay"), CodeTooLate,
				fmt.Sprintf("a delay of %s is not shorter than the life of a notice, which is %s: none would ever go out", strictyaml.FormatDuration(d.Delay), lifeOf(r, life)),
				"make it shorter, or let notices live longer with notice.expires"))
		}
	}
	return l
}

// strategyHint is the way out for a strategy at a sink that has none.
func strategyHint(d Deliver, known Known) string {
	fields := []string{"strategy"}
	for _, f := range strategyFields {
		if f.of == d.Strategy {
			fields = append(fields, f.name)
		}
	}
	remove := "remove " + strings.Join(fields, ", ")
	var push []string
	for _, name := range slices.Sorted(maps.Keys(known.Sinks)) {
		if PushSink(known.Sinks[name]) {
			push = append(push, name)
		}
	}
	if len(push) == 0 {
		return remove + "; no push channel (" + strings.Join(known.PushTypes, ", ") + ") is configured"
	}
	return remove + "; push channels: " + strings.Join(push, ", ")
}

func lifeOf(r *Rule, life time.Duration) string {
	text := strictyaml.FormatDuration(life)
	if r.Notice.Expires == 0 {
		text += " by its type"
	}
	return text
}
