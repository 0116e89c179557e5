package authoring

import (
	"context"
	"maps"
	"time"

	"tallyman/internal/config"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
)

// CheckOptions says how far Check looks.
type CheckOptions struct {
	Paths   []string // rule files or folders; the configuration's own where nil
	Live    bool     // prepare each probe on its source, and compile the rule against the columns
	Explain bool     // say what each sound rule comes to
}

// Checked is what Check found.
type Checked struct {
	Files     int
	Rules     int          // sound ones, each scope counted
	Problems  problem.List // by place
	Warnings  problem.List // what could not be checked, and why
	Explained []Explained  // by rule and scope
}

// Check reads rule files. With a configuration they are held against its sources, sinks and catalogue; where that
// is asked for, against the databases too. The configuration may have been loaded lazily: only the secrets of sources
// that are asked are needed.
func (c Commands) Check(ctx context.Context, cfg *config.Config, o CheckOptions) (Checked, error) {
	if len(o.Paths) == 0 && cfg != nil {
		o.Paths = cfg.Rules.Paths
	}
	set := rules.Load(o.Paths)
	result := Checked{Files: len(set.Files)}
	var types catalog.Catalog
	if cfg != nil {
		types, result.Problems = catalog.Load(cfg.Types.Path)
		if len(result.Problems) == 0 {
			maps.Copy(types, catalog.BuiltIn())
			rules.Check(set, Known(cfg, types))
		}
	}
	result.Problems = append(result.Problems, set.Problems...)
	checks := make([]*ruleCheck, len(set.Rules))
	for i, r := range set.Rules {
		checks[i] = &ruleCheck{rule: r}
	}
	if o.Live && cfg != nil && types != nil {
		result.addLive(c.checkLive(ctx, cfg, types, checks))
	}
	for _, check := range checks {
		if !check.refused {
			result.Rules++
		}
	}
	if o.Explain {
		for _, check := range checks {
			result.Explained = append(result.Explained, explainRule(check, time.Now()))
		}
	}
	return result, context.Cause(ctx)
}

// addLive adds what the sources have said.
func (c *Checked) addLive(problems, warnings problem.List) {
	c.Problems = rules.Tidy(append(c.Problems, problems...))
	c.Warnings = rules.Tidy(warnings)
}
