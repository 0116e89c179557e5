package rulediff

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"tallyman/engine/trial"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/scanners"
)

// Input is two versions of the rules, and what they meet on the site.
type Input struct {
	Old, New []*rules.Rule
	Types    catalog.Catalog
	Ledger   trial.Ledger // nil where none is in reach, and NoLedger says why
	NoLedger string
	// Snapshot returns the source of that name, every statement of which sees the same data. nil: the files alone are compared.
	Snapshot func(ctx context.Context, name string) (scanners.Source, error)
	Due      time.Time
	Limit    int // keys that are kept of each kind; 0 = all
}

// pair is a rule in a scope in both versions; nil where a version does not have it.
type pair struct{ old, new *rules.Rule }

// Run compares. A rule that would not run is part of the answer; an error is of the site: a source that is
// out of reach, a ledger that does not answer.
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

// describe is what the files say.
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
			Warns: []string{"its findings are closed without a word"},
		}, true
	}
	r = Rule{
		ID: p.new.ID, Scope: p.new.Scope, Status: Changed, Mode: string(p.new.Mode), Enabled: p.new.Enabled,
		Changes: changes(p.old, p.new), Warns: []string{},
	}
	r.Warns = warns(p, fieldNames(r.Changes))
	return r, len(r.Changes) > 0
}

func disabled(enabled bool) []string {
	if enabled {
		return []string{}
	}
	return []string{"disabled: it does not run"}
}

// warns says what changes do that is easily overlooked.
func warns(p pair, changed map[string]bool) []string {
	list := []string{}
	if changed["enabled"] {
		if p.new.Enabled {
			list = append(list, "enabled: it runs again, from the findings that it had")
		} else {
			list = append(list, "disabled: it does not run, and its findings stay as they are")
		}
	}
	if changed["key"] {
		list = append(list, "key: findings get another identity, so that all of them resolve and fire anew")
	}
	if changed["mode"] {
		if p.new.Mode == rules.ModeEvent {
			list = append(list, "mode: its findings are closed without a word; from now on each new row is told once")
		} else {
			list = append(list, "mode: what was told as events is not known; every row that matches fires")
		}
	}
	if changed["probe.watermark.columns"] {
		list = append(list, "probe.watermark.columns: it begins again with the initial watermark, and rows are told again")
	}
	if changed["source"] {
		list = append(list, "source: the versions read different databases, and no snapshot spans both")
	}
	if changed["group_by"] || changed["per"] {
		list = append(list, "group_by, per: what is told as one changes")
	}
	if changed["shadow"] && p.new.Shadow {
		list = append(list, "shadow: from now on nobody but its own inbox hears of it")
	}
	return list
}
