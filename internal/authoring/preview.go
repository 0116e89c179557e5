package authoring

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"tallyman/engine/trial/preview"
	"tallyman/internal/config"
	"tallyman/rules"
	"tallyman/rules/problem"
)

// PreviewOptions says which rule is tried, and when.
type PreviewOptions struct {
	Paths  []string // Rule files or folders. nil means the paths of the configuration.
	Rule   string
	Scope  *string // May be nil where the rule has only one scope.
	At     string  // See preview.ParseAt.
	Source string  // Use this source in place of the rule's own source.
	Limit  int     // The most entries of each list in the report. 0 means no limit.
}

// Preview tries a rule on its source and writes nothing. For a rule that would not run, the error is a problem.List or
// a *scanners.Error.
func (c Commands) Preview(ctx context.Context, cfg *config.Config, o PreviewOptions) (_ *preview.Preview, err error) {
	known, err := c.recall(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, known.Close()) }()
	r, err := c.pickRule(ctx, cfg, known, o)
	if err != nil {
		return nil, err
	}
	due, err := preview.ParseAt(o.At, r.Schedule.Timezone, time.Now())
	if err != nil {
		return nil, &UsageError{err}
	}
	source, err := c.openNamed(ctx, cfg, r.Source)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	shown, err := preview.Run(ctx, preview.Request{
		Rule: r, Source: source, Name: r.Source, Types: known.types, Sinks: previewSinks(cfg),
		Ledger: known.start(), NoLedger: known.reason,
		Subscriptions: known.Subscriptions,
		Silencer:      &known.silences, Due: due, Limit: o.Limit,
	})
	return shown, ofSource(r.Source, err)
}

// pickRule loads the rule files and finds the rule in its scope.
func (c Commands) pickRule(ctx context.Context, cfg *config.Config, known *site, o PreviewOptions) (*rules.Rule, error) {
	set, err := loadSet(cfg, known, o.Paths, o.Source)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	var its []*rules.Rule
	for _, r := range set.Rules {
		if ids[r.ID] = true; r.ID == o.Rule {
			its = append(its, r)
		}
	}
	if its, err = c.expand(ctx, cfg, known, its, o.Source); err != nil {
		return nil, err
	}
	var scopes []string
	var found *rules.Rule
	for _, r := range its {
		if r.Placeholder != "" {
			return nil, wrongUse("%s has no scopes: the list of its query is empty", o.Rule)
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

// loadSet reads the rule files and checks them against the site. Where source is not empty, all rules get that source.
func loadSet(cfg *config.Config, known *site, paths []string, source string) (*rules.Set, error) {
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
	rules.Check(set, Known(cfg, known.types))
	return set, nil
}

// missing returns the error for a rule that was not found: its problems where it is broken, or a similar name.
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
