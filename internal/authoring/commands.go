package authoring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"tallyman/engine/trial/ruletest"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/rules/catalog"
	"tallyman/rules/problem"
	"tallyman/scanners"
)

// Commands serves the commands for authors of rules, with or without a running node. Its fields open implementations
// that this package does not know.
type Commands struct {
	// OpenSource opens a configured source.
	OpenSource func(ctx context.Context, name string, c config.Source) (scanners.Source, error)
	// OpenLedger opens the configured ledger for reading only.
	OpenLedger func(ctx context.Context, c config.Ledger) (ledger.View, error)
	// OpenMemory opens an empty database, for the probes of rule tests with tables.
	OpenMemory func() (ruletest.Database, error)
}

// UsageError is a request that cannot be answered because of its arguments, such as the name of a rule that does not
// exist.
type UsageError struct{ Err error }

// Error returns what is wrong with the request.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

func wrongUse(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// ofSource adds the name of the source to an error of a database.
func ofSource(name string, err error) error {
	if _, ok := errors.AsType[*scanners.Error](err); ok {
		return fmt.Errorf("source %s: %w", name, err)
	}
	return err
}

// openNamed opens one of the configured sources.
func (c Commands) openNamed(ctx context.Context, cfg *config.Config, name string) (scanners.Source, error) {
	if err := cfg.Need("sources", name); err != nil {
		return nil, err
	}
	source, err := c.OpenSource(ctx, name, cfg.Sources[name])
	if err != nil {
		return nil, fmt.Errorf("open source %s: %w", name, err)
	}
	return source, nil
}

func knownSource(cfg *config.Config, name string) error {
	if _, ok := cfg.Sources[name]; ok {
		return nil
	}
	names := slices.Sorted(maps.Keys(cfg.Sources))
	if hint := problem.DidYouMean(name, names); hint != "" {
		return wrongUse("no source %q is configured; %s", name, hint)
	}
	return wrongUse("no source %q is configured; %s", name, listed("sources", names))
}

func listed(what string, names []string) string {
	if len(names) == 0 {
		return "there are no " + what
	}
	return what + ": " + join(names)
}

// join lists names. An empty name is shown as "".
func join(names []string) string {
	const most = 20
	text := ""
	for i, n := range names {
		if i == most {
			return text + fmt.Sprintf(" and %d more", len(names)-most)
		}
		if i > 0 {
			text += ", "
		}
		if n == "" {
			n = `""`
		}
		text += n
	}
	return text
}

// TestOptions says which rule tests are run, and how.
type TestOptions struct {
	Paths  []string       // Test files or folders.
	Run    *regexp.Regexp // Run only tests whose name or rule matches. nil means all.
	Cover  bool           // Report what no test reaches.
	Source string         // Run the probes of tests with tables on this source. Empty means SQLite in memory.
}

// Test runs rule tests. cfg gives the catalogue and the source. It may be nil where neither is needed.
func (c Commands) Test(ctx context.Context, cfg *config.Config, o TestOptions) (_ *ruletest.Report, err error) {
	files, problems := ruletest.Load(o.Paths)
	options := ruletest.Options{Run: o.Run, Cover: o.Cover, Memory: c.OpenMemory}
	if o.Cover {
		options.Extra = ruletest.RuleFiles(o.Paths)
	}
	if cfg != nil {
		types, found := catalog.Load(cfg.Types.Path, catalog.OnSinks(Sinks(cfg)))
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

// testDatabase opens the source on which the tests run.
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
