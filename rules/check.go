package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tallyman/rules/catalog"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// Site is what a site has configured, for Check.
type Site struct {
	Sources []string
	Sinks   map[string]string // name → type
	Types   catalog.Catalog

	PushTypes []string // the types of push channels that there are, for hints
}

// Check holds the rules against what is configured: sources, sinks, types and the fields of types. Rules with a problem
// leave the set, and their problems join its Problems.
func Check(s *Set, known Site) {
	var l problem.List
	for _, r := range s.Rules {
		l = append(l, checkRule(r, known)...)
	}
	if len(l) > 0 {
		s.drop(l)
	}
}

func checkRule(r *Rule, known Site) problem.List {
	var l problem.List
	if !slices.Contains(known.Sources, r.Source) {
		l = append(l, r.Problem("source", CodeUnknownSource, fmt.Sprintf("no source %q is configured", r.Source),
			nearest(r.Source, known.Sources, "sources")))
	}
	l = append(l, checkDeliver(r, known)...)
	_, found := dataOf(r, known.Types)
	return append(l, found...)
}

// nearest hints at the name that was meant, or says which there are.
func nearest(name string, names []string, what string) string {
	hint := problem.DidYouMean(name, names)
	switch {
	case hint != "":
		return hint
	case len(names) == 0:
		return "there are no " + what
	}
	return what + ": " + strings.Join(names, ", ")
}

// dataOf finds the rule's type and checks the names of its fields, as far as the rule gives them.
func dataOf(r *Rule, types catalog.Catalog) (catalog.Type, problem.List) {
	t, ok := types[r.Notice.Type]
	if !ok {
		return t, problem.List{r.Problem("notice.type", CodeUnknownType, fmt.Sprintf("the catalogue has no type %q", r.Notice.Type),
			nearest(r.Notice.Type, types.Codes(), "types"))}
	}
	if r.Notice.Fields == nil {
		return t, nil
	}
	var l problem.List
	for _, name := range slices.Sorted(maps.Keys(r.Notice.Fields)) {
		if _, ok := t.Fields[name]; !ok {
			l = append(l, r.keyProblem("notice.fields", name, CodeUnknownData, fmt.Sprintf("the type %s has no field %q", t.Code, name),
				nearest(name, t.FieldNames(), "fields of the type")))
		}
	}
	for _, name := range t.FieldNames() {
		if _, ok := r.Notice.Fields[name]; !ok && t.Fields[name].Required {
			l = append(l, r.Problem("notice.fields", CodeDataMissing, fmt.Sprintf("the field %q, which %s requires, is missing", name, t.Code), ""))
		}
	}
	return t, l
}

// keyProblem stands at the name of an entry of a map, not at its value.
func (r *Rule) keyProblem(path, key, code, message, hint string) problem.Problem {
	if f := r.origin.at(path, false).Field(key); f != nil {
		p := r.origin.file.Problem(f.Key, code, message, hint)
		p.Rule = r.ID
		return p
	}
	return r.Problem(path, code, message, hint)
}

// checkDeliver holds the rule's deliver against the configured sinks and the life of its notices.
func checkDeliver(r *Rule, known Site) problem.List {
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
		case !PushSink(typ) && d.Until == UntilSent:
			l = append(l, r.Problem(deliverPath(i, "until"), CodeStrategySink,
				fmt.Sprintf("the sink %s is of type %s, which takes no notice that has expired: until: sent is for push channels", d.Sink, typ),
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
func strategyHint(d Deliver, known Site) string {
	var fields []string
	if d.Strategy != StrategyImportant { // which means the same there
		fields = append(fields, "strategy")
	}
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
