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
	var err error
	a.origin, err = origin.New(origin.Options{
		Ledger: a.ledger, Source: source, Name: from.Source, SQL: from.SQL, Every: from.Every, Within: 2*a.cfg.Sources[from.Source].StatementTimeout + originSlack, Author: nodeAuthor(a.opts.Node, ledger.ViaSource), Logger: a.log,
	})
	if err != nil {
		return fmt.Errorf("subscriptions.sql: %w", err)
	}
	return nil
}

// originSlack is what a question to a source may take beside its two statements.
const originSlack = 30 * time.Second

// originName is that of the configuration; "" = no subscriptions come from a source.
func (a *App) originName() string {
	if from := a.cfg.Subscriptions.From; from != nil {
		return from.Source
	}
	return ""
}

const lateAfter = 3 // times the span between two questions

// The codes of what keeps subscriptions from following their source.
const (
	codeOriginFails   = "subscriptions_fail"
	codeOriginLate    = "subscriptions_late"
	codeOriginWaits   = "subscriptions_wait"
	codeOriginOrphans = "subscriptions_orphaned"
)

// originHealth tells what is wrong with the subscriptions of sources. While the ledger does not answer it tells nothing: that the ledger is out of reach is
// said already.
func (a *App) originHealth(ctx context.Context) (list []wire.Health) {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	origins, err := a.ledger.SubscriptionOrigins(ctx)
	if err != nil {
		a.log.Warn("The origins of subscriptions were not read.", "error", err)
	}
	for i := range origins {
		o := &origins[i]
		if err := a.originFault(o); err != nil {
			h := wire.Health{Part: "subscriptions", Name: o.Name, Error: err.Error()}
			if since := originSince(o); !since.IsZero() {
				h.Since = &since
			}
			list = append(list, h)
		}
	}
	return list
}

// measuredOrigins are the origins as the metrics have them: those that the configuration names.
func (a *App) measuredOrigins(ctx context.Context) ([]metrics.Origin, error) {
	origins, err := a.ledger.SubscriptionOrigins(ctx)
	if err != nil {
		return nil, err
	}
	var list []metrics.Origin
	for i := range origins {
		if o := &origins[i]; o.Name == a.originName() {
			list = append(list, metrics.Origin{Name: o.Name, Fails: o.Error != "", Waits: o.Waits != nil, Answered: o.Answered})
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
	if age := a.opts.Clock.Now().Sub(o.Asked); age > lateAfter*a.cfg.Subscriptions.From.Every {
		errs = append(errs, fmt.Errorf("%s: no node has asked the source for %s", codeOriginLate, age.Round(time.Second)))
	}
	if w := o.Waits; w != nil {
		errs = append(errs, fmt.Errorf("%s: a list waits that would remove %d of %d subscriptions; `tallyman subscriptions confirm %s` shows and takes it", codeOriginWaits, len(w.Removed), o.Subscriptions, o.Name))
	}
	return errors.Join(errs...)
}

// originSince is since when something is wrong, as far as the ledger knows.
func originSince(o *ledger.SubscriptionOrigin) time.Time {
	if o.Waits != nil && (o.FailedSince.IsZero() || o.Waits.Since.Before(o.FailedSince)) {
		return o.Waits.Since
	}
	return o.FailedSince
}
