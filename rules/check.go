package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/problem"
	"tallyman/rules/strictyaml"
)

// Site holds the sources, sinks and types that a site has configured, for Check.
type Site struct {
	Sources []string
	Sinks   deliver.Sinks
	Types   catalog.Catalog
}

// Check checks the rules against the configured sources, sinks, types and fields of types. It removes rules with a
// problem from the set, and adds their problems to Set.Problems.
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
			problem.Nearest(r.Source, known.Sources, "sources")))
	}
	if q := r.Scopes; q != nil && !slices.Contains(known.Sources, q.Source) {
		l = append(l, r.Problem("scopes.source", CodeUnknownSource, fmt.Sprintf("no source %q is configured", q.Source),
			problem.Nearest(q.Source, known.Sources, "sources")))
	}
	l = append(l, checkDeliver(r, known)...)
	_, found := dataOf(r, known.Types)
	return append(l, found...)
}

// dataOf finds the type of the rule's notices. It checks the names of the fields, and reports what neither the rule nor
// the type says.
func dataOf(r *Rule, types catalog.Catalog) (catalog.Type, problem.List) {
	t, ok := types[r.Notice.Type]
	if !ok {
		return t, problem.List{r.Problem("notice.type", CodeUnknownType, fmt.Sprintf("the catalogue has no type %q", r.Notice.Type),
			problem.Nearest(r.Notice.Type, types.Codes(), "types"))}
	}
	return t, append(checkFields(r, &t), checkWhole(r, &t)...)
}

// checkFields checks that the type has the fields which the rule gives, and that no required field is missing.
func checkFields(r *Rule, t *catalog.Type) problem.List {
	if r.Notice.Fields == nil {
		return nil
	}
	var l problem.List
	for _, name := range slices.Sorted(maps.Keys(r.Notice.Fields)) {
		if _, ok := t.Fields[name]; !ok {
			l = append(l, r.keyProblem("notice.fields", name, CodeUnknownData, fmt.Sprintf("the type %s has no field %q", t.Code, name),
				problem.Nearest(name, t.FieldNames(), "fields of the type")))
		}
	}
	for _, name := range t.FieldNames() {
		if _, ok := r.Notice.Fields[name]; !ok && t.Fields[name].Required {
			l = append(l, r.Problem("notice.fields", CodeDataMissing, fmt.Sprintf("the field %q, which %s requires, is missing", name, t.Code), ""))
		}
	}
	return l
}

// keyProblem makes a problem whose place is the name of a map's entry. The place of Problem is the entry's value.
func (r *Rule) keyProblem(path, key, code, message, hint string) problem.Problem {
	if f := r.origin.at(path, false).Field(key); f != nil {
		p := r.origin.file.Problem(f.Key, code, message, hint)
		p.Rule = r.ID
		return p
	}
	return r.Problem(path, code, message, hint)
}

// checkDeliver checks deliver of the rule, or of its type, against the configured sinks and the life of the notices.
func checkDeliver(r *Rule, known Site) problem.List {
	var l problem.List
	t := known.Types[r.Notice.Type]
	for _, f := range known.Sinks.Check(r.Of(&t).Deliver, lifeOf(r, t.Retention)) {
		if len(r.Deliver) == 0 {
			l = append(l, r.typeProblem(&t, "deliver"+f.Field, f.Code, f.Message, f.Hint))
			continue
		}
		l = append(l, r.Problem("deliver"+f.Field, f.Code, f.Message, f.Hint))
	}
	return l
}

// lifeOf returns how long notices of the rule live.
func lifeOf(r *Rule, retention time.Duration) deliver.Life {
	life := deliver.Life{Span: cmp.Or(r.Notice.Expires, retention), Longer: "notice.expires"}
	life.Text = strictyaml.FormatDuration(life.Span)
	if r.Notice.Expires == 0 {
		life.Text += " by its type"
	}
	return life
}
