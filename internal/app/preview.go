package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tallyman/engine/preview"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/problem"
	"tallyman/scanners"
)

// PreviewOptions says which rule is tried, and when.
type PreviewOptions struct {
	Paths  []string // rule files or folders; the configuration's own where nil
	Rule   string
	Scope  *string // may be nil where the rule has one scope
	At     string  // see preview.ParseAt
	Source string  // instead of the rule's own
	Limit  int     // of the lists in the report; 0 = none
}

// UsageError is a wish that cannot be met as it was put.
type UsageError struct{ Err error }

// Error returns what is wrong with it.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

func wrongUse(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// PreviewRule tries a rule on its source and writes nothing. A rule that would not run is a problem.List or a
// *scanners.Error.
func PreviewRule(ctx context.Context, cfg *config.Config, o PreviewOptions) (_ *preview.Preview, err error) {
	known, err := recall(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, known.Close()) }()
	r, err := pickRule(cfg, known, o)
	if err != nil {
		return nil, err
	}
	due, err := preview.ParseAt(o.At, r.Schedule.Timezone, time.Now())
	if err != nil {
		return nil, &UsageError{err}
	}
	source, err := openNamed(ctx, cfg, r.Source)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	shown, err := preview.Run(ctx, preview.Request{
		Rule: r, Source: source, Name: r.Source, Types: known.types, Sinks: sinkTypes(cfg),
		Ledger: known.recall(), NoLedger: known.reason,
		Subscriptions: known.Subscriptions,
		Silencer:      &known.silences, Due: due, Limit: o.Limit,
	})
	return shown, ofSource(r.Source, err)
}

// ofSource says which source an error of a database came from.
func ofSource(name string, err error) error {
	if _, ok := errors.AsType[*scanners.Error](err); ok {
		return fmt.Errorf("source %s: %w", name, err)
	}
	return err
}

// openNamed opens one of the configured sources.
func openNamed(ctx context.Context, cfg *config.Config, name string) (scanners.Source, error) {
	if err := cfg.Need("sources", name); err != nil {
		return nil, err
	}
	source, err := openSource(ctx, name, cfg.Sources[name])
	if err != nil {
		return nil, fmt.Errorf("open source %s: %w", name, err)
	}
	return source, nil
}

// pickRule loads the rule files and finds the rule in its scope.
func pickRule(cfg *config.Config, known *recalled, o PreviewOptions) (*rules.Rule, error) {
	set, err := loadSet(cfg, known, o.Paths, o.Source)
	if err != nil {
		return nil, err
	}
	var scopes []string
	var found *rules.Rule
	ids := map[string]bool{}
	for _, r := range set.Rules {
		if ids[r.ID] = true; r.ID != o.Rule {
			continue
		}
		if scopes = append(scopes, r.Scope); o.Scope == nil || r.Scope == *o.Scope {
			found = r
		}
	}
	switch {
	case len(scopes) == 0:
		return nil, missing(set, o.Rule, slices.Sorted(maps.Keys(ids)))
	case found == nil && len(scopes) == 1 && scopes[0] == "":
		return nil, wrongUse("%s has no scopes: leave out --scope", o.Rule)
	case found == nil:
		return nil, wrongUse("%s has no scope %q; %s", o.Rule, *o.Scope, listed("its scopes", scopes))
	case o.Scope == nil && len(scopes) > 1:
		return nil, wrongUse("%s has %d scopes; name one with --scope: %s", o.Rule, len(scopes), join(scopes))
	}
	return found, nil
}

// loadSet reads the rule files and holds them against the site. Where source is named, all rules have that one.
func loadSet(cfg *config.Config, site *recalled, paths []string, source string) (*rules.Set, error) {
	if len(paths) == 0 {
		paths = cfg.Rules.Paths
	}
	set := rules.Load(paths)
	if source != "" {
		if err := knownSource(cfg, source); err != nil {
			return nil, err
		}
		for _, r := range set.Rules {
			r.Source = source
		}
	}
	rules.Check(set, known(cfg, site.types))
	return set, nil
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

// missing explains that there is no such rule: it is broken, or it is called otherwise.
func missing(set *rules.Set, id string, ids []string) error {
	var its, files problem.List
	for _, p := range set.Problems {
		switch p.Rule {
		case id:
			its = append(its, p)
		case "":
			files = append(files, p)
		}
	}
	switch {
	case len(its) > 0:
		return its
	case len(files) > 0:
		return files
	}
	if hint := problem.DidYouMean(id, ids); hint != "" {
		return wrongUse("there is no rule %q; %s", id, hint)
	}
	return wrongUse("there is no rule %q; %s", id, listed("rules", ids))
}

func listed(what string, names []string) string {
	if len(names) == 0 {
		return "there are no " + what
	}
	return what + ": " + join(names)
}

// join lists names; "" shows itself.
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

func sinkTypes(cfg *config.Config) map[string]string {
	types := map[string]string{}
	for name, s := range cfg.Sinks {
		types[name] = s.TypeName()
	}
	return types
}

// seedOf are the subscriptions that a new ledger would begin with, of one type.
func seedOf(cfg *config.Config, typ string) []ledger.Subscription {
	var subs []ledger.Subscription
	for _, s := range cfg.Subscriptions {
		if s.Type == typ {
			subs = append(subs, ledger.Subscription{Type: s.Type, Warehouse: s.Warehouse, Subscriber: s.Subscriber})
		}
	}
	return subs
}
