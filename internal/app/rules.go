package app

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tallyman/internal/config"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/sinks"
)

// loadRules reads the rule files for the first time. Bad ones are told and left out.
func (a *App) loadRules(ctx context.Context) error {
	seen := fingerprint(a.cfg.Rules.Paths)
	var err error
	if a.book.place, err = a.rulesPlace(ctx); err != nil {
		return err
	}
	set, err := a.readRules(ctx)
	if err != nil {
		return err
	}
	a.book.put(set, set.Rules, nil, seen)
	a.tellProblems(set, nil)
	return nil
}

// readRules reads the rule files and holds them against what is configured.
func (a *App) readRules(ctx context.Context) (*rules.Set, error) {
	types, err := a.ledger.Types(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the types: %w", err)
	}
	set := rules.Load(a.cfg.Rules.Paths)
	rules.Check(set, known(a.cfg, types))
	return set, nil
}

// tellProblems logs what is wrong with the files and was not so before.
func (a *App) tellProblems(set, before *rules.Set) {
	told := map[string]bool{}
	if before != nil {
		for _, p := range before.Problems {
			told[p.Error()] = true
		}
	}
	for _, p := range set.Problems {
		if !told[p.Error()] {
			a.log.Error("rule not in force", "problem", p.Error(), "rule", p.Rule, "hint", p.Hint)
		}
	}
}

func known(cfg *config.Config, types catalog.Catalog) rules.Known {
	configured := map[string]string{}
	for name, s := range cfg.Sinks {
		configured[name] = s.TypeName()
	}
	return rules.Known{Sources: slices.Sorted(maps.Keys(cfg.Sources)), Sinks: configured, PushTypes: sinkTypeNames(sinks.PushKind), Types: types}
}
