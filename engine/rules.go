package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/problem"
	"tallyman/rules/row"
)

// ErrManyScopes says that a question needs a scope, since the rule has several.
var ErrManyScopes = errors.New("the rule has several scopes")

// UnknownError says that there is no rule or scope of that name.
type UnknownError struct {
	What string // rule or scope
	Name string
	Hint string // did you mean …
}

// Error names it.
func (e *UnknownError) Error() string {
	text := fmt.Sprintf("there is no %s %q", e.What, e.Name)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Rule returns the rule in the scope, which may be nil where it has one. Errors are *UnknownError, ErrManyScopes, and
// *UnverifiedError of a rule that has no scopes.
func (e *Engine) Rule(id string, scope *string) (*rules.Rule, error) {
	found, err := e.find(id, scope)
	if err != nil {
		return nil, err
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("%w: name one of %s", ErrManyScopes, scopesOf(found))
	}
	if p := found[0].Placeholder; p != "" {
		return nil, &UnverifiedError{errors.New(p.WhyNot())}
	}
	return found[0], nil
}

// InForce returns the rules of this node, also those that are disabled. The list is only read.
func (e *Engine) InForce() []*rules.Rule { return e.crew.all() }

// Reach is what the rules of this node may tell: another one when other rules come into force.
func (e *Engine) Reach() *rules.Reach {
	e.crew.mu.Lock()
	defer e.crew.mu.Unlock()
	if e.crew.reach == nil {
		e.crew.reach = rules.NewReach(e.crew.rules)
	}
	return e.crew.reach
}

// Here is how this node has the rule in each of its scopes, without what the ledger knows.
func (e *Engine) Here(id string) []RuleStatus {
	return slices.DeleteFunc(e.crew.status(e.opts.Clock.Now()), func(s RuleStatus) bool { return s.Rule.ID != id })
}

// State is what the ledger knows of the rule in its scope.
func (e *Engine) State(ctx context.Context, r *rules.Rule) (ledger.ScopeState, error) {
	return e.opts.Ledger.Scope(ctx, r.ID, r.Scope)
}

// Channels says how notices are addressed to the sinks, by their names.
func (e *Engine) Channels() map[string]judge.Channel { return e.channels }

// Completed is the rule as its type completes it, or the rule itself where the types cannot be read.
func (e *Engine) Completed(ctx context.Context, r *rules.Rule) *rules.Rule {
	_, types, _ := e.types.get(ctx) // a catalogue that was read before will do
	t := types[r.Notice.Type]
	return r.Of(&t)
}

// Columns are those of the rule's probe as this node has seen them last; nil where the rule was never verified here.
func (e *Engine) Columns(r *rules.Rule) []row.Column {
	if u := e.crew.unit(r.ID, r.Scope); u != nil {
		return u.status.seenColumns()
	}
	return nil
}

// Verified verifies the rule on its source as its loop does, for who looks at single rows. The error is why the rule
// would not run, or ErrSourceBusy.
func (e *Engine) Verified(ctx context.Context, r *rules.Rule) (*judge.ScopedRule, error) {
	u, err := e.makeUnit(r)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	if err := u.verify(ctx, wait.Done()); err != nil {
		if errors.Is(err, errStopping) {
			err = ErrSourceBusy
		}
		return nil, err
	}
	u.scoped.BorrowProgram() // and keeps it: the loops of other scopes use what is shared
	return u.scoped, nil
}

// lookWait is how long an answer waits for the source to have room for one more question.
const lookWait = 10 * time.Second

// ErrSourceBusy says that as many questions as may be are being asked of the source.
var ErrSourceBusy = errors.New("source_busy: the source has no room for one more question")

// Room waits for a place among the runs of the source, so that whoever asks it beside them takes no connection that a
// run has been given leave to use. The place is held until release is called.
func (e *Engine) Room(ctx context.Context, source string) (release func(), err error) {
	wait, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	places, ok := e.slots[source]
	if !ok {
		return nil, &UnknownError{What: "source", Name: source}
	}
	if !places.acquire(wait.Done()) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, ErrSourceBusy
	}
	return places.release, nil
}

// Find tells whether there is such a rule, in that scope where one is given. The error is an *UnknownError.
func (e *Engine) Find(rule string, scope *string) error {
	_, err := e.find(rule, scope)
	return err
}

// Now is the time of the engine's clock.
func (e *Engine) Now() time.Time { return e.opts.Clock.Now() }

// find returns the rule in the scope, or in all of its scopes. The error is an *UnknownError.
func (e *Engine) find(rule string, scope *string) ([]*rules.Rule, error) {
	var found []*rules.Rule
	var ids, scopes []string
	for _, r := range e.crew.all() {
		ids = append(ids, r.ID)
		if r.ID != rule {
			continue
		}
		scopes = append(scopes, r.Scope)
		if scope == nil || r.Scope == *scope {
			found = append(found, r)
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case len(scopes) > 0:
		return nil, &UnknownError{"scope", *scope, hint(*scope, scopes)}
	}
	return nil, &UnknownError{"rule", rule, problem.DidYouMean(rule, ids)}
}

// hint names the scope that was meant, or those that there are.
func hint(scope string, scopes []string) string {
	if meant := problem.DidYouMean(scope, scopes); meant != "" {
		return meant
	}
	if len(scopes) == 1 && scopes[0] == "" {
		return "the rule has no scopes"
	}
	return "its scopes are " + listed(scopes)
}

// listed names a few.
func listed(names []string) string {
	const most = 10
	text := strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

func scopesOf(list []*rules.Rule) string {
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.Scope
	}
	return listed(names)
}

// ErrNotShadow says that a rule that is live already was to be promoted.
var ErrNotShadow = errors.New("the rule is not in shadow")

// Promote makes a rule in shadow live in the scope, or in all of its scopes where that is nil: from its next run on, on
// every node, it delivers what it newly finds. What it knows already is not told again. It returns every scope that is
// live by then.
func (e *Engine) Promote(ctx context.Context, who ledger.Author, rule string, scope *string) ([]ledger.Promotion, error) {
	found, err := e.find(rule, scope)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(r *rules.Rule) bool { return !r.Shadow || r.Placeholder != "" })
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNotShadow, rule)
	}
	list := make([]ledger.Promotion, len(found))
	for i, r := range found {
		now := e.opts.Clock.Now().UTC()
		term, _ := e.opts.Terms.Term()
		if _, err := e.opts.Ledger.Register(ctx, r.ID, r.Scope, term.Number, now); err != nil { // it may never have run
			return nil, err
		}
		if err := e.opts.Ledger.Promote(ctx, who, r.ID, r.Scope, now); err != nil {
			return nil, err
		}
		state, err := e.opts.Ledger.Scope(ctx, r.ID, r.Scope)
		if err != nil {
			return nil, err
		}
		list[i] = ledger.Promotion{Rule: r.ID, Scope: r.Scope, At: state.Promoted, By: state.PromotedBy}
	}
	return list, nil
}

// demoteAfter is how long a node runs a rule that is no longer in shadow before its promotion is forgotten. Until then
// a node that still has the old file, as while a cluster is restarted node by node, goes on telling what it finds.
const demoteAfter = 10 * time.Minute

// demote forgets the promotion of a rule whose file has left shadow behind: should it return there, it is in shadow
// again.
func (p *pass) demote(ctx context.Context, known *ledger.ScopeState) {
	if p.rule.Shadow || known.Promoted.IsZero() || p.Started.Sub(p.since) < demoteAfter {
		return
	}
	who := ledger.Author{By: "node:" + p.e.opts.Node, Via: ledger.ViaFile}
	if err := p.e.opts.Ledger.Demote(ctx, who, p.rule.ID, p.rule.Scope); err != nil {
		p.Log.Warn("the promotion of a rule that is not in shadow any more could not be forgotten; the next run tries again", "error", err)
		return
	}
	p.Log.Info("the rule's file has no shadow any more: its promotion is forgotten", "promoted", known.Promoted)
}
