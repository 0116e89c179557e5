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

// ErrManyScopes says that the caller must name a scope, because the rule has several.
var ErrManyScopes = errors.New("the rule has several scopes")

// UnknownError says that there is no rule, scope or source of that name.
type UnknownError struct {
	What string // "rule", "scope" or "source".
	Name string
	Hint string // A similar name, or the names that exist. Empty means no hint.
}

// Error returns the message with the name and the hint.
func (e *UnknownError) Error() string {
	text := fmt.Sprintf("there is no %s %q", e.What, e.Name)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Rule returns the rule in the scope. scope may be nil for a rule with one scope. Errors are *UnknownError,
// ErrManyScopes, and *UnverifiedError for a rule whose scopes are not known.
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

// InForce returns the rules of this node, disabled rules included. The caller must not change the list.
func (e *Engine) InForce() []*rules.Rule { return e.crew.all() }

// Reach returns what notices the rules of this node can send, and where. The pointer changes when the rules do.
func (e *Engine) Reach() *rules.Reach {
	e.crew.mu.Lock()
	defer e.crew.mu.Unlock()
	if e.crew.reach == nil {
		e.crew.reach = rules.NewReach(e.crew.rules)
	}
	return e.crew.reach
}

// Here returns the rule's status on this node in each of its scopes, without what the ledger knows.
func (e *Engine) Here(id string) []RuleStatus {
	return slices.DeleteFunc(e.crew.status(e.opts.Clock.Now()), func(s RuleStatus) bool { return s.Rule.ID != id })
}

// State returns what the ledger knows of the rule in its scope.
func (e *Engine) State(ctx context.Context, r *rules.Rule) (ledger.ScopeState, error) {
	return e.opts.Ledger.Scope(ctx, r.ID, r.Scope)
}

// Channels returns how notices are addressed to each sink, keyed by sink.
func (e *Engine) Channels() map[string]judge.Channel { return e.channels }

// Completed returns the rule with the defaults of its notice type. Where the types cannot be read it uses the types
// that were read before, if any.
func (e *Engine) Completed(ctx context.Context, r *rules.Rule) *rules.Rule {
	_, types, _ := e.types.get(ctx) // The error does not matter: an older catalogue is good enough.
	t := types[r.Notice.Type]
	return r.Of(&t)
}

// Columns returns the columns of the rule's probe, as this node last saw them. Nil means this node has not verified the
// rule.
func (e *Engine) Columns(r *rules.Rule) []row.Column {
	if u := e.crew.unit(r.ID, r.Scope); u != nil {
		return u.status.seenColumns()
	}
	return nil
}

// Verified verifies the rule on its source as the rule's unit does, for callers that judge single rows. The error is
// why the rule would not run, ErrSourceBusy, or the cause of ctx's end.
func (e *Engine) Verified(ctx context.Context, r *rules.Rule) (*judge.ScopedRule, error) {
	u, err := e.makeUnit(r)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	if err := u.verify(ctx, wait.Done()); err != nil {
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case errors.Is(err, errStopping):
			err = ErrSourceBusy
		}
		return nil, err
	}
	// The caller keeps the borrowed program, so ReturnProgram is never called. The units of other scopes go on with the
	// shared program.
	u.scoped.BorrowProgram()
	return u.scoped, nil
}

// lookWait is how long a caller of Verified or Room waits for a free place at the source.
const lookWait = 10 * time.Second

// ErrSourceBusy says that all places at the source are taken.
var ErrSourceBusy = errors.New("source_busy: all places at the source are taken; try again later")

// Room waits for a place among the runs of the source. A caller that asks the source beside the runs must take a place
// first: otherwise it would use a connection that a run counts on. The caller holds the place until it calls release.
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

// Find checks that the rule exists, and has the scope unless scope is nil. The error is an *UnknownError.
func (e *Engine) Find(rule string, scope *string) error {
	_, err := e.find(rule, scope)
	return err
}

// Now returns the time of the engine's clock.
func (e *Engine) Now() time.Time { return e.opts.Clock.Now() }

// find returns the rule in the scope, or in all of its scopes where scope is nil. The error is an *UnknownError.
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

// hint suggests a scope with a similar name, or lists the scopes that exist.
func hint(scope string, scopes []string) string {
	if meant := problem.DidYouMean(scope, scopes); meant != "" {
		return meant
	}
	if len(scopes) == 1 && scopes[0] == "" {
		return "the rule has no scopes"
	}
	return "its scopes are " + listed(scopes)
}

// listed joins the first ten names, and counts the rest.
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

// ErrNotShadow says that a rule cannot be promoted, because its file does not put it in shadow.
var ErrNotShadow = errors.New("the rule is not in shadow")

// Promote makes a rule in shadow live in the scope, or in all of its scopes where scope is nil. From its next run on,
// on every node, the rule sends notices of new findings. Findings that the rule knew before get no new notice. Promote
// returns the promotion of every scope, also of scopes that were live before.
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
		// Promote needs the rule in the ledger; a rule that no unit has begun yet is not there.
		if _, err := e.opts.Ledger.Register(ctx, r.ID, r.Scope, term.Number, now); err != nil {
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

// demoteAfter is how long a node runs a rule without shadow before the rule's promotion is deleted. During a rolling
// restart another node may still have the old file, with shadow. Until demoteAfter the promotion lets that node go on
// sending notices.
const demoteAfter = 10 * time.Minute

// demote deletes the promotion of a rule whose file has no shadow any more. If shadow returns to the file later, the
// rule is in shadow again.
func (p *pass) demote(ctx context.Context, known *ledger.ScopeState) {
	if p.rule.Shadow || known.Promoted.IsZero() || p.Started.Sub(p.since) < demoteAfter {
		return
	}
	who := ledger.Author{By: "node:" + p.e.opts.Node, Via: ledger.ViaFile}
	if err := p.e.opts.Ledger.Demote(ctx, who, p.rule.ID, p.rule.Scope); err != nil {
		p.Log.Warn("The rule's old promotion was not deleted from the ledger. The next run tries again.", "error", err)
		return
	}
	p.Log.Info("The rule's promotion is deleted, because its file has no shadow any more.", "promoted", known.Promoted)
}
