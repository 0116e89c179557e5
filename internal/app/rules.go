package app

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tallyman/internal/config"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
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

// Checked is what CheckRules found.
type Checked struct {
	Files    int          `json:"files"`
	Rules    int          `json:"rules"` // each scope counted
	Problems problem.List `json:"problems"`
}

// CheckRules reads rule files without any server. With a configuration they are held against its sources, sinks and
// catalogue too; paths nil means the configuration's own.
func CheckRules(cfg *config.Config, paths []string) Checked {
	if len(paths) == 0 && cfg != nil {
		paths = cfg.Rules.Paths
	}
	set := rules.Load(paths)
	var found problem.List
	if cfg != nil {
		types, problems := catalog.Load(cfg.Types.Path)
		found = problems
		if len(problems) == 0 {
			rules.Check(set, known(cfg, types))
		}
	}
	return Checked{Files: len(set.Files), Rules: len(set.Rules), Problems: append(found, set.Problems...)}
}
