package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/retry"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/scanners"
)

// The start of a node verifies each scope of each rule. So many lines would hide the others: what is verified within verifiedWindow has one
// line together, and of the rules that are not verified, mostUnverifiedLines have lines of their own within unverifiedWindow.
const (
	verifiedWindow      = 2 * time.Second
	unverifiedWindow    = 5 * time.Second
	mostUnverifiedLines = 20
)

// getReady returns at once while the rule is verified. Otherwise it verifies the rule, again and
// again until that succeeds; a rule that is not verified does not run. One that tells of its failed runs is not waited for
// any longer than until; see givesUp. It returns false when the engine stops.
func (u *unit) getReady(ctx context.Context, stop <-chan struct{}, until time.Time) bool {
	pauses := retry.New(time.Second, time.Minute)
	for {
		err := u.check(ctx, stop, until)
		if err == nil {
			if u.status.setVerified(u.scoped.Prepared.Columns()) {
				u.e.verified.Event(func() { u.logger().Info("Rule was verified.") })
			}
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if u.status.setReason(err, u.now()) {
			u.e.unverified.Event(func() { u.logger().Warn("Rule is unverified: it does not run.", "reason", err.Error()) })
		}
		u.expect(time.Time{}) // the scans of its group do not wait for it
		if u.givesUp(err, until) {
			return true
		}
		wait := pauses.Next()
		if left := u.e.opts.Clock.Real(until.Sub(u.now())); left > 0 {
			wait = min(wait, left)
		}
		if !u.pause(ctx, wait) {
			return false
		}
	}
}

// typesError is a catalogue that the ledger does not give out: no fault of the rule's.
type typesError struct{ err error }

func (e *typesError) Error() string { return "the types cannot be read: " + e.err.Error() }
func (e *typesError) Unwrap() error { return e.err }

// verify prepares the probe where that was not done, and compiles the rule where the types have changed.
func (u *unit) verify(ctx context.Context, stop <-chan struct{}) error {
	version, types, err := u.e.types.get(ctx)
	if err != nil {
		if u.scoped.Prepared != nil {
			return nil // the ledger is out of reach; the claim will say so
		}
		return &typesError{err}
	}
	if u.scoped.Prepared == nil {
		if err = u.prepare(ctx, stop); err != nil {
			return err
		}
	}
	return u.scoped.Compile(types, version)
}

// stale tells whether the types have changed since the rule was compiled: what it would commit is no longer in force.
func (u *unit) stale(ctx context.Context) bool {
	version, _, err := u.e.types.get(ctx)
	return err == nil && u.scoped.Outdated(version)
}

func (u *unit) prepare(ctx context.Context, stop <-chan struct{}) error {
	return u.scoped.Prepare(ctx, func(ctx context.Context) (scanners.PreparedProbe, error) {
		if !u.slots.acquire(stop) {
			return nil, errStopping
		}
		defer u.slots.release()
		ctx, done := context.WithTimeout(ctx, judge.PrepareTimeout)
		defer done()
		return scanners.PrepareForms(ctx, u.source, u.scoped.Statement, u.rule.Probe.Forms())
	})
}

// typesFresh is how long what was read of the types counts as current. Changes have to be in force on every node
// within a second, and many rules may be due in the same one.
const typesFresh = 500 * time.Millisecond

// typeCache is the catalogue as the ledger had it last, read for all rules together.
type typeCache struct {
	ledger  Ledger
	mu      sync.Mutex // held while the ledger is asked: those who come meanwhile share the answer
	asked   time.Time
	err     error
	version int64
	catalog catalog.Catalog
}

// get asks the ledger for the version, and for the types only when it has changed.
func (t *typeCache) get(ctx context.Context) (int64, catalog.Catalog, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked.IsZero() || time.Since(t.asked) >= typesFresh {
		t.asked = time.Now() // before the question, for what changes after it is not in the answer
		if t.err = t.read(ctx); t.err != nil {
			t.asked = time.Now() // those who waited for a ledger that does not answer need not wait in turn
		}
	}
	return t.version, t.catalog, t.err
}

func (t *typeCache) read(ctx context.Context) error {
	version, err := t.ledger.TypesVersion(ctx)
	if err != nil {
		return err
	}
	if t.catalog != nil && version == t.version {
		return nil
	}
	read, err := t.ledger.Types(ctx)
	if err != nil {
		return err
	}
	t.version, t.catalog = version, read
	return nil
}

// A rule with on_error: alert tells of its failed runs, and so it has some while it is not verified: when a firing comes due, the rule
// is checked once more, again and again for a moment, and then the firing is claimed and recorded as a failed run with the reason.
// In that moment a node that has the rule verified takes the firing. Between the due times the rule goes on being checked.

// tellsFailures tells whether the rule runs, and fails, while it is not verified.
func (u *unit) tellsFailures() bool { return u.rule.OnError == rules.PolicyAlert }

// mostVerifyWait is how long a firing that is due waits for its rule to be verified, and half of the schedule's shortest interval
// at most.
const mostVerifyWait = time.Minute

func (u *unit) unready() bool { return u.scoped.Program == nil || u.unverified != nil }

// verifyWait is how long this rule's firing waits.
func (u *unit) verifyWait() time.Duration { return min(mostVerifyWait, u.scoped.Policy.Shortest/2) }

// check verifies the rule and what its probe costs. Of a rule that tells of its failures it waits for a source that hangs, or that is
// busy with other rules, not much longer than until.
func (u *unit) check(ctx context.Context, stop <-chan struct{}, until time.Time) error {
	if !u.tellsFailures() {
		return u.checkOnce(ctx, stop)
	}
	bounded, done := context.WithTimeout(ctx, max(u.e.opts.Clock.Real(until.Sub(u.now())), time.Second))
	defer done()
	err := u.checkOnce(bounded, bounded.Done())
	if errors.Is(err, errStopping) && ctx.Err() == nil {
		err = &scanners.Error{Code: scanners.CodeUnreachable, Transient: true, Err: errors.New("everything that may ask the source is busy")}
	}
	u.unverified = err
	return err
}

func (u *unit) checkOnce(ctx context.Context, stop <-chan struct{}) error {
	if err := u.verify(ctx, stop); err != nil {
		return err
	}
	return u.checkCost(ctx, stop)
}

// givesUp tells whether a rule that tells of its failures has been waited for long enough. A ledger that is out of reach is waited for as ever: nothing
// could be recorded.
func (u *unit) givesUp(err error, until time.Time) bool {
	var noTypes *typesError
	return u.tellsFailures() && !errors.As(err, &noTypes) && !u.now().Before(until)
}
