package authoring

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"tallyman/engine/trial/ruletest"
	"tallyman/internal/config"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
)

// TestOptions says which rule tests are run, and how.
type TestOptions struct {
	Paths  []string       // test files or folders
	Run    *regexp.Regexp // only those whose name or rule it matches; nil = all
	Cover  bool           // say what no test reaches
	Source string         // run the probes of tests with tables on this source; "" = on SQLite in memory
}

// Test runs rule tests. cfg gives the catalogue and the source; nil where neither is asked for.
func (c Commands) Test(ctx context.Context, cfg *config.Config, o TestOptions) (_ *ruletest.Report, err error) {
	files, problems := ruletest.Load(o.Paths)
	options := ruletest.Options{Run: o.Run, Cover: o.Cover, Memory: c.OpenMemory}
	if o.Cover {
		options.Extra = ruletest.RuleFiles(o.Paths)
	}
	if cfg != nil {
		types, found := catalog.Load(cfg.Types.Path)
		options.Types, problems = types, append(problems, found...)
		if o.Cover {
			options.Extra = append(options.Extra, cfg.Rules.Paths...)
		}
	}
	if o.Source != "" {
		db, failed := c.testDatabase(ctx, cfg, o.Source)
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		options.Source, options.Engine = db, o.Source
	}
	report, err := ruletest.Run(ctx, files, options)
	if err != nil {
		return nil, ofSource(o.Source, err)
	}
	report.Problems = append(append(problem.List{}, problems...), report.Problems...)
	return report, nil
}

// testDatabase opens the source that tests run on.
func (c Commands) testDatabase(ctx context.Context, cfg *config.Config, name string) (ruletest.Database, error) {
	if err := knownSource(cfg, name); err != nil {
		return nil, err
	}
	if err := cfg.Need("sources", name); err != nil {
		return nil, err
	}
	source, err := c.OpenSource(ctx, name, cfg.Sources[name])
	if err != nil {
		return nil, fmt.Errorf("open source %s: %w", name, err)
	}
	db, ok := source.(ruletest.Database)
	if !ok {
		err := wrongUse("the driver %s of source %s cannot stage tables for tests; postgres, mysql and sqlite can", cfg.Sources[name].Driver, name)
		return nil, errors.Join(err, source.Close())
	}
	return db, nil
}
