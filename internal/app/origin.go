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

// openOrigin makes the keeper of the subscriptions that a source lists, if the configuration names a source.
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

// originSlack is the time for a question to a source in addition to its two statements.
const originSlack = 30 * time.Second

// answerWithin returns the time limit of a question for a list.
func (a *App) answerWithin(source string) time.Duration {
	return 2*a.cfg.Sources[source].StatementTimeout + originSlack
}

// originName returns the source that lists subscriptions. Empty means there is none.
func (a *App) originName() string {
	if from := a.cfg.Subscriptions.From; from != nil {
		return from.Source
	}
	return ""
}

const lateAfter = 3 // A list is late after this many times its interval.

// The codes of faults of lists that come from sources.
const (
	codeOriginFails   = "subscriptions_fail"
	codeOriginLate    = "subscriptions_late"
	codeOriginWaits   = "subscriptions_wait"
	codeOriginOrphans = "subscriptions_orphaned"

	codeScopesFail = "scopes_fail"
	codeScopesLate = "scopes_late"
	codeScopesWait = "scopes_wait"
)

// originHealth reports the faults of lists that queries of sources make. While the ledger does not answer it reports
// none: the ledger's own health says that it is out of reach.
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

// addFault adds the fault of an origin, if there is one. The fault's since is the earlier one of o.FailedSince and
// waits; a zero time does not count.
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

// measuredLists returns the metrics' view of the lists that the configuration and the rule files name.
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

// originFault returns the faults of the subscriptions of a source, joined, or nil.
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
		errs = append(errs, fmt.Errorf("%s: a waiting list would remove %d of %d subscriptions; `tallyman subscriptions confirm %s` shows and takes the list", codeOriginWaits, len(w.Removed), o.Subscriptions, o.Name))
	}
	return errors.Join(errs...)
}

// isLate tells whether the last question of any node is too long ago, and how long.
func (a *App) isLate(o *ledger.OriginState, every time.Duration) (age time.Duration, late bool) {
	age = a.opts.Clock.Now().Sub(o.Asked)
	return age.Round(time.Second), !o.Asked.IsZero() && age > lateAfter*every
}

// scopesFault returns the faults of the scopes of a rule, joined, or nil. A rule that has no query any more has no
// fault, because its list has no effect.
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
		errs = append(errs, fmt.Errorf("%s: an empty list waits; with it the rule would run nowhere; %s; `tallyman scopes confirm %s` takes the list", codeScopesWait, last, o.Name))
	case w != nil:
		errs = append(errs, fmt.Errorf("%s: a waiting list would remove %d of %d scopes; `tallyman scopes confirm %s` shows and takes the list", codeScopesWait, len(w.Change.Removed), o.Scopes, o.Name))
	case !o.Listed && o.Error == "":
		errs = append(errs, errors.New(rules.Waiting.WhyNot()))
	case o.Listed && o.Scopes == 0:
		errs = append(errs, errors.New(rules.Nowhere.WhyNot()))
	}
	return errors.Join(errs...)
}
