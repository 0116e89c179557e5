package rules

import (
	"fmt"

	"tallyman/internal/notice"
	"tallyman/rules/strictyaml"
)

func (v *validator) deliver() {
	v.need("deliver", "where the notices go, as [{sink: inbox}]")
	list := v.r.origin.at("deliver", false)
	if list == nil || list.Kind != strictyaml.Sequence {
		return
	}
	if len(list.Items) == 0 {
		v.fail("deliver", strictyaml.CodeMissing, "deliver names no sink, so nobody would be told", "as [{sink: inbox}]")
	}
	if n := len(v.r.Deliver); n > notice.MaxSinks {
		v.fail("deliver", strictyaml.CodeOutOfRange, fmt.Sprintf("deliver has %d entries, %d are the most", n, notice.MaxSinks), "name each sink once")
	}
	seen := map[string]bool{}
	for i := range v.r.Deliver {
		v.deliverSink(i, seen)
		v.strategy(i)
		v.expr(deliverPath(i, "at"), v.r.Deliver[i].At)
		v.expr(deliverPath(i, "when"), v.r.Deliver[i].When)
	}
}

// deliverPath is where a field of an entry stands.
func deliverPath(i int, field string) string { return fmt.Sprintf("deliver[%d].%s", i, field) }

func (v *validator) deliverSink(i int, seen map[string]bool) {
	path, name := deliverPath(i, "sink"), v.r.Deliver[i].Sink
	switch {
	case name == "" && v.isText(path):
		v.fail(path, strictyaml.CodeMissing, "the sink has no name", "")
	case name != "" && seen[name]:
		v.fail(path, CodeDuplicateName, fmt.Sprintf("the notices go to %q already", name), "name each sink once")
	}
	seen[name] = true
}

// strategyFields belong to one strategy each.
var strategyFields = []struct {
	name string
	of   Strategy
}{
	{"within", StrategyTimed}, {"delay", StrategyDelayed}, {"at", StrategyDelayed}, {"retry", StrategyDelayed}, {"unless", StrategyDelayed},
}

// strategy checks that the fields of an entry belong together.
func (v *validator) strategy(i int) {
	d := v.r.Deliver[i]
	written := v.r.origin.at(deliverPath(i, "strategy"), false)
	if written != nil && written.Text != d.Strategy.String() {
		return // it is none, which decoding has said
	}
	has := func(field string) bool { return v.has(deliverPath(i, field)) }
	for _, f := range strategyFields {
		if has(f.name) && d.Strategy != f.of {
			v.fail(deliverPath(i, f.name), CodeStrategy, fmt.Sprintf("%s belongs to strategy %s, and this one is %s", f.name, f.of, d.Strategy),
				fmt.Sprintf("set strategy: %s, or remove %s", f.of, f.name))
		}
	}
	switch {
	case d.Strategy == StrategyTimed && !has("within"):
		v.fail(deliverPath(i, "strategy"), strictyaml.CodeMissing, "within is missing: strategy timed ends after it", "as within: 30m")
	case d.Strategy == StrategyDelayed && !has("delay") && !has("at"):
		v.fail(deliverPath(i, "strategy"), strictyaml.CodeMissing, "delay is missing: strategy delayed begins after it", "as delay: 10m; or a time by an expression, as at: released_at")
	case d.Strategy == StrategyDelayed && has("delay") && has("at"):
		v.fail(deliverPath(i, "at"), CodeConflict, "the delivery waits for two times, of delay and of at", "keep one")
	}
	if d.Strategy == StrategyDelayed && d.Unless == UnlessResolved && v.r.Mode == ModeEvent {
		v.fail(deliverPath(i, "unless"), CodeMode, "unless: resolved means nothing in mode event, where nothing resolves", "unless: read, or acked; or remove it")
	}
}
