package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
)

// Why is what the engine knows of one finding.
type Why struct {
	Rule *rules.Rule
	RuleStatus
	Key     string
	Asked   time.Time               // on the engine's clock
	Finding *ledger.Finding         // nil = none is open
	Look    *Look                   // nil = the source was not asked
	Held    []Held                  // why nothing is told now
	Next    *Next                   // nil = nothing is foreseen
	Told    []ledger.Traced         // every notice of it, the latest first
	More    bool                    // there are older ones
	Waiting []ledger.DeliveryRecord // those of Told to push channels that are pending, the earliest first
	Alike   []string                // open keys that may have been meant, where nothing is known of this one
}

// Known tells whether there is anything to say of the key.
func (w *Why) Known() bool {
	return w.Finding != nil || len(w.Told) > 0 || w.Look != nil && w.Look.Found
}

// Held is one reason why a finding is not told now, or not where it would be.
type Held struct {
	Code string // a stable word
	Text string
}

// Next is what comes of the finding if nothing changes.
type Next struct {
	What string    // one of the Next… constants
	Due  time.Time // of the firing
	At   time.Time // with the rule's jitter
}

// What Next.What says.
const (
	NextFires    = "fires"    // it is told for the first time
	NextReminder = "reminder" // it is told again
	NextResolves = "resolves"
	NextDropped  = "dropped" // it goes without a word: it never fired
	NextEvent    = "event"   // mode event: the row is told
)

// ErrManyScopes says that a question needs a scope, since the rule has several.
var ErrManyScopes = errors.New("the rule has several scopes")

// mostTold is how many notices an answer has.
const mostTold = 100

// Why gathers what is known of the finding with the key: a canonical JSON array, or the values of the key's columns, separated by commas. scope
// may be nil where the rule has one. With look the source is asked how the row is now. Errors are *UnknownError, *KeyError, and
// the ledger's.
func (e *Engine) Why(ctx context.Context, rule string, scope *string, key string, look bool) (*Why, error) {
	found, err := e.find(rule, scope)
	if err != nil {
		return nil, err
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("%w: name one of %s", ErrManyScopes, scopesOf(found))
	}
	w := &Why{Rule: found[0], Asked: e.opts.Clock.Now().UTC()}
	if w.RuleStatus, err = e.statusOf(ctx, w.Rule); err != nil {
		return nil, err
	}
	open, err := e.opts.Ledger.Findings(ctx, w.Rule.ID, w.Rule.Scope)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return nil, err
	}
	state, err := e.opts.Ledger.Scope(ctx, w.Rule.ID, w.Rule.Scope)
	if errors.Is(err, ledger.ErrNotFound) {
		state.Registered = w.Asked
	} else if err != nil {
		return nil, err
	}
	seen := &looker{e: e, rule: w.Rule, known: &before{ScopeState: state}, now: w.Asked}
	if look {
		w.Look = &Look{Skipped: w.whyNotLook()}
	}
	if look && w.Look.Skipped == "" {
		w.Look.Failed = errorText(seen.prepare(ctx))
	}
	if w.Key, err = resolveKey(key, w.Rule, open, seen.columns(e)); err != nil {
		return nil, err
	}
	if w.Look != nil && w.Look.Skipped == "" && w.Look.Failed == "" {
		seen.look(ctx, w.Key, w.Look)
	}
	if err := w.recall(ctx, e.opts.Ledger); err != nil {
		return nil, err
	}
	if !w.Known() {
		w.Alike = alike(w.Key, open)
	}
	if err := w.waiting(ctx, e); err != nil {
		return nil, err
	}
	h := &holder{w: w, state: state, e: e}
	return w, h.explain(ctx)
}

// recall reads the finding and everything that was told of it.
func (w *Why) recall(ctx context.Context, l Ledger) error {
	keys, ids := []string{w.Key}, []string(nil)
	f, err := l.Finding(ctx, w.Rule.ID, w.Rule.Scope, w.Key)
	switch {
	case err == nil:
		w.Finding = &f
		if f.Group != "" {
			keys = append(keys, f.Group)
		}
		if f.NoticeID != "" {
			ids = append(ids, f.NoticeID)
		}
	case !errors.Is(err, ledger.ErrNotFound):
		return err
	}
	if w.Finding == nil && w.Look != nil && w.Look.Group != "" {
		keys = append(keys, w.Look.Group)
	}
	told, err := l.Trace(ctx, w.Rule.ID, w.Rule.Scope, keys, ids, mostTold+1)
	if err != nil {
		return err
	}
	if w.More = len(told) > mostTold; w.More {
		told = told[:mostTold]
	}
	w.Told = told
	return nil
}

// whyNotLook is why the source is not asked although it could be.
func (w *Why) whyNotLook() string {
	if w.Verified || w.Reason == "" || w.Rule.Probe.MaxCost == 0 {
		return ""
	}
	if code := codeOf(w.Reason); code == "probe_cost" || code == "probe_cost_unknown" {
		return "the rule may not run: " + w.Reason
	}
	return ""
}

// statusOf is the rule's entry of Status.
func (e *Engine) statusOf(ctx context.Context, r *rules.Rule) (RuleStatus, error) {
	list, err := e.Status(ctx)
	if err != nil {
		return RuleStatus{}, err
	}
	for _, s := range list {
		if s.Rule.ID == r.ID && s.Rule.Scope == r.Scope {
			return s, nil
		}
	}
	return RuleStatus{}, fmt.Errorf("engine: rule %s has no status", r.ID)
}

// columns are those of the probe: as the source has them now, else as this node has seen them last, else unknown.
func (l *looker) columns(e *Engine) []row.Column {
	if l.unit != nil && l.unit.ready.prepared != nil {
		return l.unit.ready.prepared.Columns()
	}
	if u := e.crew.unit(l.rule.ID, l.rule.Scope); u != nil {
		return u.status.seenColumns()
	}
	return nil
}
