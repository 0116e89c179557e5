package app

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"tallyman/engine/trial/ruletest"
	"tallyman/internal/config"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
	"tallyman/scanners/sqlite"
)

// RuleTests says which rule tests are run, and how.
type RuleTests struct {
	Paths  []string       // test files or folders
	Run    *regexp.Regexp // only those whose name or rule it matches; nil = all
	Cover  bool           // say what no test reaches
	Source string         // run the probes of tests with tables on this source; "" = on SQLite in memory
}

// TestRules runs rule tests. cfg gives the catalogue and the source; nil where neither is asked for.
func TestRules(ctx context.Context, cfg *config.Config, o RuleTests) (_ *ruletest.Report, err error) {
	files, problems := ruletest.Load(o.Paths)
	options := ruletest.Options{Run: o.Run, Cover: o.Cover, Memory: memoryDatabase}
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
		db, failed := testDatabase(ctx, cfg, o.Source)
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

// memoryDatabase is what the probes of tests with tables run on.
func memoryDatabase() (ruletest.Database, error) {
	return sqlite.Open(sqlite.Config{URL: "sqlite::memory:"})
}

// testDatabase opens the source that tests run on.
func testDatabase(ctx context.Context, cfg *config.Config, name string) (ruletest.Database, error) {
	if err := knownSource(cfg, name); err != nil {
		return nil, err
	}
	if err := cfg.Need("sources", name); err != nil {
		return nil, err
	}
	source, err := openSource(ctx, name, cfg.Sources[name])
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
