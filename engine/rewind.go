package engine

import (
	"context"
	"errors"
	"fmt"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
)

// Rewind moves the watermark of a rule to a position, back or forward, and returns the old position. The next firing
// begins there, on any node. While a firing of the rule is running, Rewind changes nothing and returns ErrRunning.
// Other errors are the ledger's.
func (e *Engine) Rewind(ctx context.Context, who ledger.Author, r *rules.Rule, to []row.Value, reason string) (before []row.Value, err error) {
	// The rule may never have run.
	if _, err := e.opts.Ledger.Register(ctx, r.ID, r.Scope, e.Term().Number, e.opts.Clock.Now().UTC()); err != nil {
		return nil, err
	}
	w := r.Probe.Watermark
	before, err = e.opts.Ledger.Rewind(ctx, who, &ledger.Rewind{
		Rule: r.ID, Scope: r.Scope, Columns: w.Columns, To: to, Initial: w.InitialText(), Reason: reason,
	})
	if errors.Is(err, ledger.ErrBusy) {
		return nil, ErrRunning
	}
	return before, err
}

// Running returns an ErrRunning while a firing of the rule runs on any node.
func (e *Engine) Running(ctx context.Context, r *rules.Rule) error {
	state, err := e.opts.Ledger.Scope(ctx, r.ID, r.Scope)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return nil
	case err != nil:
		return err
	case state.Running != nil:
		return running(state.Running)
	}
	return nil
}

// running returns an ErrRunning with the due time and the node of the firing.
func running(c *ledger.Claim) error {
	return fmt.Errorf("%w: it was due at %s and is on node %s", ErrRunning, stamp(c.Due), delivery.NodeName(c.Node))
}

// Term returns the clock term in force.
func (e *Engine) Term() ledger.Term {
	term, _ := e.opts.Terms.Term()
	return term
}

// RulesOf returns the rule in the scope, or in each of its scopes where scope is nil. Errors are *UnknownError, and
// *UnverifiedError for a rule whose scopes are not known.
func (e *Engine) RulesOf(rule string, scope *string) ([]*rules.Rule, error) {
	found, err := e.find(rule, scope)
	if err == nil && found[0].Placeholder != "" {
		return nil, &UnverifiedError{errors.New(found[0].Placeholder.WhyNot())}
	}
	return found, err
}

// noteInitial sets or clears the warning about an initial of the watermark that has no effect.
func (u *unit) noteInitial(state *ledger.ScopeState) {
	var warnings []string
	for _, p := range rules.LintInitial(u.rule, state.Initial, state.Watermark) {
		warnings = append(warnings, fmt.Sprintf("%s: %s; %s", p.Code, p.Message, p.Hint))
	}
	if u.status.setInitial(warnings) && len(warnings) > 0 {
		u.logger().Warn("The rule's initial has changed since its watermark began. The change has no effect: the watermark stays where it is.", "warning", warnings[0])
	}
}
