package app

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tallyman/internal/config"
	"tallyman/rules"
	"tallyman/rules/catalog"
)

// loadRules reads the rule files and holds them against what is configured. Bad ones are told and left out.
func (a *App) loadRules(ctx context.Context) error {
	types, err := a.ledger.Types(ctx)
	if err != nil {
		return fmt.Errorf("read the types: %w", err)
	}
	a.set = rules.Load(a.cfg.Rules.Paths)
	rules.Check(a.set, known(a.cfg, types))
	for _, p := range a.set.Problems {
		a.log.Error("rule not in force", "problem", p.Error(), "rule", p.Rule, "hint", p.Hint)
	}
	return nil
}

func known(cfg *config.Config, types catalog.Catalog) rules.Known {
	sinks := map[string]string{}
	for name, s := range cfg.Sinks {
		sinks[name] = string(s.Type)
	}
	return rules.Known{Sources: slices.Sorted(maps.Keys(cfg.Sources)), Sinks: sinks, Types: types}
}
