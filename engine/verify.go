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

// A node that starts verifies each scope of each rule. A log line for each of them would hide all other lines. The
// rules that are verified within verifiedWindow have one line together. Of the rules that are not verified,
// mostUnverifiedLines have their own lines within unverifiedWindow.
const (
	verifiedWindow      = 2 * time.Second
	unverifiedWindow    = 5 * time.Second
	mostUnverifiedLines = 20
)

// getReady checks the rule, again and again until the check succeeds: a rule that is not verified does not run. For a
// rule with on_error: alert, getReady gives up at the time `until` and returns true; see givesUp. getReady returns
// false when ctx ends or the unit stops.
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
		u.expect(time.Time{}) // The group's scans must not wait for this unit.
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

// typesError says that the ledger did not return the types. typesError is no fault of the rule.
type typesError struct{ err error }

func (e *typesError) Error() string { return "the types cannot be read: " + e.err.Error() }
func (e *typesError) Unwrap() error { return e.err }

// verify prepares the probe once, and compiles the rule whenever the types have changed.
func (u *unit) verify(ctx context.Context, stop <-chan struct{}) error {
	version, types, err := u.e.types.get(ctx)
	if err != nil {
		if u.scoped.Prepared != nil {
			return nil // The ledger is out of reach. The claim will report that.
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

// stale tells whether the types have changed since the rule was compiled. The notices of a stale rule must not be
// committed.
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

// typesFresh is how long a read of the types counts as current. A change of a type must be in force on every node
// within a second. Many rules may be due in one second, so they share a read.
const typesFresh = 500 * time.Millisecond

// typeCache caches the ledger's catalogue of types for all rules of the node.
type typeCache struct {
	ledger  Ledger
	mu      sync.Mutex // Held while the ledger is asked, so that concurrent callers share the answer.
	asked   time.Time
	err     error
	version int64
	catalog catalog.Catalog
}

// get returns the types and their version. get asks the ledger for the version, and for the types only when the version
// has changed. With an error, get also returns the types that it read before.
func (t *typeCache) get(ctx context.Context) (int64, catalog.Catalog, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked.IsZero() || time.Since(t.asked) >= typesFresh {
		t.asked = time.Now() // The time before the question, because the answer may miss later changes.
		if t.err = t.read(ctx); t.err != nil {
			// The error may have taken long: callers that waited get it too, and do not ask in turn.
			t.asked = time.Now()
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

// A rule with on_error: alert sends a notice of each failed run. So it must have runs while it is not verified. When a
// firing is due, the unit checks the rule again for a short time (verifyWait). Then the unit claims the firing and
// records a failed run with the reason. In that short time another node, which may have verified the rule, can claim
// the firing first. Between the due times the unit goes on checking the rule.

// alertsOnError tells whether the rule has on_error: alert. Such a rule runs, and fails, while it is not verified.
func (u *unit) alertsOnError() bool { return u.rule.OnError == rules.PolicyAlert }

// mostVerifyWait bounds how long a due firing waits for the verification of its rule.
const mostVerifyWait = time.Minute

func (u *unit) unready() bool { return u.scoped.Program == nil || u.unverified != nil }

// verifyWait returns how long a due firing of this rule waits for verification: half of the schedule's shortest
// interval, and mostVerifyWait at most.
func (u *unit) verifyWait() time.Duration { return min(mostVerifyWait, u.scoped.Policy.Shortest/2) }

// check verifies the rule and the cost of its probe. For a rule with on_error: alert, check stops waiting for a source
// at the time `until`, but waits at least a second. The source may hang or be busy. Such a firing must be recorded in
// time.
func (u *unit) check(ctx context.Context, stop <-chan struct{}, until time.Time) error {
	if !u.alertsOnError() {
		return u.checkOnce(ctx, stop)
	}
	bounded, done := context.WithTimeout(ctx, max(u.e.opts.Clock.Real(until.Sub(u.now())), time.Second))
	defer done()
	err := u.checkOnce(bounded, bounded.Done()) // Here errStopping means that the time is over.
	if errors.Is(err, errStopping) && ctx.Err() == nil {
		err = &scanners.Error{Code: scanners.CodeUnreachable, Transient: true, Err: errors.New("all places at the source are busy with other rules")}
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

// givesUp tells whether the unit has waited long enough for the verification of a rule with on_error: alert. Then the
// unit claims the firing, and the run fails. The unit does not give up while the ledger does not return the types,
// because then the ledger could not record a run.
func (u *unit) givesUp(err error, until time.Time) bool {
	var noTypes *typesError
	return u.alertsOnError() && !errors.As(err, &noTypes) && !u.now().Before(until)
}
