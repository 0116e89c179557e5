package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tallyman/internal/api/metrics"
	"tallyman/internal/ledger"
	"tallyman/internal/origin"
	"tallyman/internal/wire"
	"tallyman/rules"
)

// openOrigin makes what keeps the subscriptions of a source, where the configuration names one.
func (a *App) openOrigin() error {
	from := a.cfg.Subscriptions.From
	if from == nil {
		return nil
	}
	source := a.sources[from.Source]
	if source == nil {
		return fmt.Errorf("subscriptions.source: there is no source %q", from.Source)
	}
	stmt, err := origin.Parse(from.SQL)
	if err != nil {
		return fmt.Errorf("subscriptions.sql: %w", err)
	}
	a.origin = origin.New(origin.Options{
		Ledger: a.ledger, Source: source, Within: a.answerWithin(from.Source), Logger: a.log,
		Kind:     &origin.Subscriptions{Ledger: a.ledger, Source: from.Source, Author: nodeAuthor(a.opts.Node, ledger.ViaSource)},
		Question: origin.Question{Statement: stmt, Hash: from.SQL, Every: from.Every},
	})
	return nil
}

// originSlack is what a question to a source may take beside its two statements.
const originSlack = 30 * time.Second

// answerWithin is how long a question for a list may take.
func (a *App) answerWithin(source string) time.Duration {
	return 2*a.cfg.Sources[source].StatementTimeout + originSlack
}

// originName is that of the configuration; "" = no subscriptions come from a source.
func (a *App) originName() string {
	if from := a.cfg.Subscriptions.From; from != nil {
		return from.Source
	}
	return ""
}

const lateAfter = 3 // times the span between two questions

// The codes of what keeps lists from following their sources.
const (
	codeOriginFails   = "subscriptions_fail"
	codeOriginLate    = "subscriptions_late"
	codeOriginWaits   = "subscriptions_wait"
	codeOriginOrphans = "subscriptions_orphaned"

	codeScopesFail = "scopes_fail"
	codeScopesLate = "scopes_late"
	codeScopesWait = "scopes_wait"
)

// originHealth tells what is wrong with what queries of sources list. While the ledger does not answer it tells
// nothing: that the ledger is out of reach is said already.
func (a *App) originHealth(ctx context.Context) (list []wire.Health) {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	origins, err := a.ledger.SubscriptionOrigins(ctx)
	if err != nil {
		a.log.Warn("The origins of subscriptions were not read.", "error", err)
	}
	for i := range origins {
		o := &origins[i]
		var waits time.Time
		if o.Waits != nil {
			waits = o.Waits.Since
		}
		list = addFault(list, "subscriptions", &o.OriginState, waits, a.originFault(o))
	}
	scopes, err := scopeDesk{a.ledger, a.book}.Origins(ctx)
	if err != nil {
		a.log.Warn("The origins of scopes were not read.", "error", err)
	}
	for i := range scopes {
		o := &scopes[i]
		var waits time.Time
		if o.Waits != nil {
			waits = o.Waits.Since
		}
		list = addFault(list, "scopes", &o.OriginState, waits, a.scopesFault(o))
	}
	return list
}

// addFault adds what is wrong with an origin, if anything is: since the earlier of the times that the ledger knows.
func addFault(list []wire.Health, part string, o *ledger.OriginState, waits time.Time, fault error) []wire.Health {
	if fault == nil {
		return list
	}
	h := wire.Health{Part: part, Name: o.Name, Error: fault.Error()}
	since := o.FailedSince
	if since.IsZero() || !waits.IsZero() && waits.Before(since) {
		since = waits
	}
	if !since.IsZero() {
		h.Since = &since
	}
	return append(list, h)
}

// measuredLists are the lists as the metrics have them: those that the configuration and the rule files name.
func (a *App) measuredLists(ctx context.Context) (list []metrics.List, err error) {
	origins, err := a.ledger.SubscriptionOrigins(ctx)
	if err != nil {
		return nil, err
	}
	for i := range origins {
		if o := &origins[i]; o.Name == a.originName() {
			list = append(list, metrics.List{Kind: "subscriptions", Name: o.Name, Fails: o.Error != "", Waits: o.Waits != nil, Answered: o.Answered})
		}
	}
	desk := scopeDesk{a.ledger, a.book}
	scopes, err := desk.Origins(ctx)
	if err != nil {
		return nil, err
	}
	for i := range scopes {
		if o := &scopes[i]; desk.Source(o.Name) != "" {
			list = append(list, metrics.List{Kind: "scopes", Name: o.Name, Fails: o.Error != "", Waits: o.Waits != nil, Answered: o.Answered})
		}
	}
	return list, nil
}

// originFault is everything that is wrong with the subscriptions of a source; nil where nothing is.
func (a *App) originFault(o *ledger.SubscriptionOrigin) error {
	if o.Name != a.originName() {
		return fmt.Errorf("%s: %d subscriptions come from the source %s, which the configuration of this node does not name any more; they stay as they are; `tallyman subscriptions release %s` lets people change them",
			codeOriginOrphans, o.Subscriptions, o.Name, o.Name)
	}
	var errs []error
	if o.Error != "" {
		errs = append(errs, fmt.Errorf("%s: the subscriptions stay as they were: %s", codeOriginFails, o.Error))
	}
	if age, late := a.isLate(&o.OriginState, a.cfg.Subscriptions.From.Every); late {
		errs = append(errs, fmt.Errorf("%s: no node has asked the source for %s", codeOriginLate, age))
	}
	if w := o.Waits; w != nil {
		errs = append(errs, fmt.Errorf("%s: a list waits that would remove %d of %d subscriptions; `tallyman subscriptions confirm %s` shows and takes it", codeOriginWaits, len(w.Removed), o.Subscriptions, o.Name))
	}
	return errors.Join(errs...)
}

// isLate tells whether no node has asked for too long, and for how long.
func (a *App) isLate(o *ledger.OriginState, every time.Duration) (age time.Duration, late bool) {
	age = a.opts.Clock.Now().Sub(o.Asked)
	return age.Round(time.Second), !o.Asked.IsZero() && age > lateAfter*every
}

// scopesFault is everything that is wrong with the scopes of a rule; nil where nothing is, and of a rule that has no
// query any more: its list is of no effect.
func (a *App) scopesFault(o *ledger.ScopeOrigin) error {
	query := a.book.query(o.Name)
	if query == nil {
		return nil
	}
	last := "the scopes stay as they were"
	if !o.Listed {
		last = "the rule waits for its scopes, and does not run"
	}
	var errs []error
	if o.Error != "" {
		errs = append(errs, fmt.Errorf("%s: %s: %s", codeScopesFail, last, o.Error))
	}
	if age, late := a.isLate(&o.OriginState, query.Every); late {
		errs = append(errs, fmt.Errorf("%s: no node has asked the source for %s", codeScopesLate, age))
	}
	switch w := o.Waits; {
	case w != nil && w.Scopes == 0:
		errs = append(errs, fmt.Errorf("%s: a list waits that is empty, so that the rule would run nowhere; %s; `tallyman scopes confirm %s` takes it", codeScopesWait, last, o.Name))
	case w != nil:
		errs = append(errs, fmt.Errorf("%s: a list waits that would remove %d of %d scopes; `tallyman scopes confirm %s` shows and takes it", codeScopesWait, len(w.Change.Removed), o.Scopes, o.Name))
	case !o.Listed && o.Error == "":
		errs = append(errs, errors.New(rules.Waiting.WhyNot()))
	case o.Listed && o.Scopes == 0:
		errs = append(errs, errors.New(rules.Nowhere.WhyNot()))
	}
	return errors.Join(errs...)
}
