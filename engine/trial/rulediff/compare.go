package rulediff

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"tallyman/engine/trial"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/strictyaml"
	"tallyman/scanners"
)

// Input is two versions of the rules, and what running them needs.
type Input struct {
	Old, New []*rules.Rule
	Types    catalog.Catalog
	Ledger   trial.Ledger // Nil means no ledger is in reach; NoLedger says why.
	NoLedger string
	// Snapshot returns the source of that name. All statements of the source see the same data. Nil means only the
	// files are compared.
	Snapshot func(ctx context.Context, name string) (scanners.Source, error)
	Due      time.Time
	Limit    int // The largest number of keys of each kind in the answer. 0 means all.
}

// pair is the old and the new version of a rule in a scope. Nil means the version does not have the rule.
type pair struct{ old, new *rules.Rule }

// Run compares the versions. A rule that would not run is part of the answer. Run returns an error only where a source
// or the ledger is out of reach.
func Run(ctx context.Context, in Input) (*Diff, error) {
	d := &Diff{Ran: in.Snapshot != nil, Due: in.Due.UTC(), NoLedger: in.NoLedger, Rules: []Rule{}}
	if d.Ran {
		d.Sum = newEffect()
	}
	for _, p := range match(in.Old, in.New) {
		r, differs := describe(p)
		if !differs {
			d.Same++
			continue
		}
		if d.Ran {
			if err := in.run(ctx, p, &r); err != nil {
				return nil, fmt.Errorf("rule %s%s: %w", r.ID, inScope(r.Scope), err)
			}
			if r.Effect != nil {
				d.Sum.sum(r.Effect)
			}
			if len(r.Faults) > 0 || r.New != nil && r.New.Error != "" {
				d.Failing++
			}
		}
		d.Rules = append(d.Rules, r)
	}
	return d, nil
}

func inScope(scope string) string {
	if scope == "" {
		return ""
	}
	return " in " + scope
}

// match pairs the rules by id and scope, in that order.
func match(old, now []*rules.Rule) []pair {
	type name struct{ id, scope string }
	pairs := map[name]pair{}
	for _, r := range old {
		pairs[name{r.ID, r.Scope}] = pair{old: r}
	}
	for _, r := range now {
		p := pairs[name{r.ID, r.Scope}]
		p.new = r
		pairs[name{r.ID, r.Scope}] = p
	}
	names := slices.SortedFunc(maps.Keys(pairs), func(a, b name) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.scope, b.scope))
	})
	list := make([]pair, len(names))
	for i, n := range names {
		list[i] = pairs[n]
	}
	return list
}

// describe compares a rule's two versions by their files alone.
func describe(p pair) (r Rule, differs bool) {
	switch {
	case p.old == nil:
		return Rule{
			ID: p.new.ID, Scope: p.new.Scope, Status: Added, Mode: string(p.new.Mode), Enabled: p.new.Enabled,
			Changes: []Change{}, Warns: disabled(p.new.Enabled),
		}, true
	case p.new == nil:
		return Rule{
			ID: p.old.ID, Scope: p.old.Scope, Status: Removed, Mode: string(p.old.Mode), Changes: []Change{},
			Warns: []string{removed(p.old)},
		}, true
	}
	r = Rule{
		ID: p.new.ID, Scope: p.new.Scope, Status: Changed, Mode: string(p.new.Mode), Enabled: p.new.Enabled,
		Changes: changes(p.old, p.new), Warns: []string{},
	}
	r.Warns = warns(p, fieldNames(r.Changes))
	return r, len(r.Changes) > 0
}

// removed says what becomes of the findings of a removed rule.
func removed(r *rules.Rule) string {
	switch {
	case !r.Notice.SendResolved:
		return "its findings are closed without notices"
	case r.Shadow:
		return "its findings are closed without notices; where the rule was promoted, its open notices are resolved"
	}
	return "its findings are closed, and its open notices are resolved (send_resolved)"
}

func disabled(enabled bool) []string {
	if enabled {
		return []string{}
	}
	return []string{"disabled: the rule does not run"}
}

// warns lists consequences of the changes that an author may overlook.
func warns(p pair, changed map[string]bool) []string {
	list := []string{}
	if changed["enabled"] {
		if p.new.Enabled {
			list = append(list, "enabled: the rule runs again, and goes on from its old findings")
		} else {
			list = append(list, "disabled: the rule does not run, and its findings stay as they are")
		}
	}
	if changed["key"] {
		list = append(list, "key: every finding gets another identity, so all findings resolve and fire again")
	}
	if changed["mode"] {
		if p.new.Mode == rules.ModeEvent {
			list = append(list, "mode: the rule's findings end without notices; from now on each new row makes one notice")
		} else {
			list = append(list, "mode: notices of earlier rows do not count; every row that matches fires")
		}
	}
	if changed["probe.watermark.columns"] {
		list = append(list, "probe.watermark.columns: the rule begins again at the initial watermark, and rows make notices again")
	}
	if changed["source"] {
		list = append(list, "source: the versions read different databases, and no snapshot spans both")
	}
	if changed["group_by"] || changed["per"] {
		list = append(list, "group_by, per: the findings that share one notice change")
	}
	if changed["shadow"] && p.new.Shadow {
		list = append(list, "shadow: from now on the rule's notices go only to its shadow inbox")
	}
	return list
}

// Change is a field that differs. Old or New is empty where that version does not have the field.
type Change struct {
	Field string `json:"field"` // As in a rule file, such as schedule.cron.
	Old   string `json:"old"`
	New   string `json:"new"`
}

// changes compares two versions of a rule field by field, in the order of the fields.
func changes(before, after *rules.Rule) []Change {
	old, now := flatten(before), flatten(after)
	list := []Change{}
	add := func(name string) {
		if a, b := old.values[name], now.values[name]; a != b {
			list = append(list, Change{Field: name, Old: a, New: b})
		}
	}
	for _, name := range old.names {
		add(name)
	}
	for _, name := range now.names {
		if _, both := old.values[name]; !both {
			add(name)
		}
	}
	return list
}

// flatFields is a rule as a list of fields.
type flatFields struct {
	names  []string
	values map[string]string
}

// identity lists the fields of a rule that do not say what it does: its names and where its file is.
var identity = map[string]bool{"ID": true, "Scope": true, "Placeholder": true, "File": true, "Checksum": true, "Kin": true}

func flatten(r *rules.Rule) flatFields {
	f := flatFields{values: map[string]string{}}
	v := reflect.ValueOf(*r)
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.IsExported() && !identity[field.Name] {
			f.add(fileName(field.Name), v.Field(i))
		}
	}
	return f
}

// add adds a field, or the fields of a struct or map below it. add leaves out a field that is not set.
func (f *flatFields) add(name string, v reflect.Value) {
	if back, ok := reflect.TypeAssert[rules.LookBack](v); ok {
		f.put(name, back.String())
		return
	}
	switch {
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			f.add(name, v.Elem())
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			f.add(name+"."+fileName(v.Type().Field(i).Name), v.Field(i))
		}
	case v.Kind() == reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			f.put(strings.TrimSuffix(name+"."+k.String(), "."), text(v.MapIndex(k)))
		}
	case v.IsZero() && v.Kind() != reflect.Bool:
	default:
		f.put(name, text(v))
	}
}

func (f *flatFields) put(name, value string) {
	f.names = append(f.names, name)
	f.values[name] = value
}

// text returns a value as a rule file would have it.
func text(v reflect.Value) string {
	if v.Kind() == reflect.Interface {
		if v.IsNil() {
			return "null"
		}
		v = v.Elem()
	}
	if d, ok := reflect.TypeAssert[time.Duration](v); ok {
		return strictyaml.FormatDuration(d)
	}
	switch v.Kind() {
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = text(v.Index(i))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case reflect.Struct:
		inner := flatFields{values: map[string]string{}}
		for i := range v.NumField() {
			inner.add(fileName(v.Type().Field(i).Name), v.Field(i))
		}
		items := make([]string, len(inner.names))
		for i, name := range inner.names {
			items[i] = name + ": " + inner.values[name]
		}
		return "{" + strings.Join(items, ", ") + "}"
	default:
		return fmt.Sprint(v.Interface())
	}
}

// fileName returns the name of the field in a rule file: RunbookURL is runbook_url.
func fileName(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		starts := i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if starts {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// fieldNames returns the changed fields: their full names and their top-level names.
func fieldNames(list []Change) map[string]bool {
	names := map[string]bool{}
	for _, c := range list {
		first, _, _ := strings.Cut(c.Field, ".")
		names[first], names[c.Field] = true, true
	}
	return names
}
