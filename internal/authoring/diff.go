package authoring

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tallyman/engine/trial/rulediff"
	"tallyman/internal/config"
	"tallyman/rules"
	"tallyman/rules/probe"
	"tallyman/scanners"
)

// DiffOptions says which versions to compare, and how.
type DiffOptions struct {
	Old, New []string // Rule files or folders.
	Rule     string   // Compare only this rule.
	Scope    *string  // Compare only this scope.
	Run      bool     // Run both versions over one snapshot.
	Source   string   // Use this source in place of the rules' own sources.
	Limit    int      // How many keys of each kind to keep. 0 means all.
}

// Diff compares two versions of rule files. cfg may be nil where the versions are not run. Where the files have
// problems, the error is a problem.List.
func (c Commands) Diff(ctx context.Context, cfg *config.Config, o DiffOptions) (_ *rulediff.Diff, err error) {
	old, now := rules.Load(o.Old), rules.Load(o.New)
	if problems := append(slices.Clone(old.Problems), now.Problems...); len(problems) > 0 {
		return nil, problems
	}
	in := rulediff.Input{Due: time.Now().UTC().Truncate(time.Second), Limit: o.Limit}
	if o.Run {
		known, err := c.recall(ctx, cfg)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, known.Close()) }()
		if err := fitSite(cfg, known, old, now, o.Source); err != nil {
			return nil, err
		}
		snapshots := &snapshotSet{commands: c, cfg: cfg, open: map[string]*snapshot{}}
		defer func() { err = errors.Join(err, snapshots.close()) }()
		in.Types, in.Ledger, in.NoLedger, in.Snapshot = known.types, known.start(), known.reason, snapshots.of
		if old.Rules, err = c.expand(ctx, cfg, known, o.named(old.Rules), o.Source); err != nil {
			return nil, err
		}
		if now.Rules, err = c.expand(ctx, cfg, known, o.named(now.Rules), o.Source); err != nil {
			return nil, err
		}
	}
	if in.Old, in.New = o.choose(old.Rules), o.choose(now.Rules); len(in.Old)+len(in.New) == 0 && o.narrowed() {
		return nil, wrongUse("neither version has the rule %q%s", o.Rule, scoped(o.Scope))
	}
	return rulediff.Run(ctx, in)
}

func (o *DiffOptions) narrowed() bool { return o.Rule != "" || o.Scope != nil }

func scoped(scope *string) string {
	if scope == nil {
		return ""
	}
	return fmt.Sprintf(" in the scope %q", *scope)
}

// named keeps only the rules with the id in o.Rule. An empty o.Rule keeps all rules.
func (o *DiffOptions) named(list []*rules.Rule) []*rules.Rule {
	return slices.DeleteFunc(slices.Clone(list), func(r *rules.Rule) bool { return o.Rule != "" && r.ID != o.Rule })
}

// choose keeps only the rules and scopes in o.
func (o *DiffOptions) choose(list []*rules.Rule) []*rules.Rule {
	return slices.DeleteFunc(o.named(list), func(r *rules.Rule) bool { return o.Scope != nil && r.Scope != *o.Scope })
}

// fitSite gives all rules the named source, and checks the new version against the site.
func fitSite(cfg *config.Config, known *site, old, now *rules.Set, source string) error {
	if source != "" {
		if err := knownSource(cfg, source); err != nil {
			return err
		}
		for _, r := range append(slices.Clone(old.Rules), now.Rules...) {
			r.Source = source
		}
	}
	rules.Check(now, Known(cfg, known.types))
	return now.Problems.Err()
}

// snapshotSet holds the sources that a comparison reads. Each source has one session, so that both versions see the
// same data.
type snapshotSet struct {
	commands Commands
	cfg      *config.Config
	open     map[string]*snapshot
}

// of returns the snapshot of the source. The first call takes the snapshot.
func (s *snapshotSet) of(ctx context.Context, name string) (scanners.Source, error) {
	if open := s.open[name]; open != nil {
		return open, nil
	}
	if err := knownSource(s.cfg, name); err != nil {
		return nil, err
	}
	driver := s.cfg.Sources[name].Driver
	source, err := s.commands.openNamed(ctx, s.cfg, name)
	if err != nil {
		return nil, err
	}
	sessions, ok := source.(scanners.Sessions)
	if !ok {
		return nil, errors.Join(wrongUse("source %s: the driver %s has no snapshots, so the two versions cannot run over the same data; compare the files without --source", name, driver), source.Close())
	}
	session, err := sessions.Session(ctx, nil)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("source %s: %w", name, err), source.Close())
	}
	s.open[name] = &snapshot{source: source, session: session}
	return s.open[name], nil
}

func (s *snapshotSet) close() error {
	var errs []error
	for name, open := range s.open {
		if err := errors.Join(open.session.Close(), open.source.Close()); err != nil {
			errs = append(errs, fmt.Errorf("close source %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// snapshot is a source whose statements all see the same data.
type snapshot struct {
	source  scanners.Source
	session scanners.Session
}

// Prepare checks the statement within the session.
func (s *snapshot) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.PreparedProbe, error) {
	return s.session.Prepare(ctx, stmt)
}

// Ping asks the source.
func (s *snapshot) Ping(ctx context.Context) error { return s.source.Ping(ctx) }

// Close does nothing, because other rules need the session as well. snapshotSet.close ends it.
func (s *snapshot) Close() error { return nil }
