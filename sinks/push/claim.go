package push

import (
	"context"
	"maps"
	"slices"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/retry"
)

const (
	pollEvery = 500 * time.Millisecond // how often the ledger is asked, whatever it has said of the next
	mostAsked = 1000                   // in one claim
)

// job is a delivery that this node has claimed.
type job struct {
	delivery.PushClaim

	startBy time.Time // an attempt that begins later could end after the lease
	ends    time.Time // its deadline or its expiry on this node's timers; zero = never
	goBy    time.Time // it waits for others of its batch no longer than this
	alone   bool      // it goes in a call of its own: the channel has refused the batch that it was in
}

// late tells whether no attempt may begin any more: the ledger is to decide anew.
func (j *job) late(now time.Time) bool {
	return now.After(j.startBy) || !j.ends.IsZero() && !now.Before(j.ends)
}

// claimState is what the loop knows of its question to the ledger what is due.
type claimState struct {
	at     time.Time // when it is asked next
	asking bool
	lost   bool // an answer was: the ledger may hold for this node what the node does not know of
	again  bool // woken since it was asked last
	retry  *retry.Pauses
	answer chan claimAnswer
}

func (a *claimState) wake() { a.at, a.again = time.Time{}, true }

// claimAnswer is the ledger's answer to a claim.
type claimAnswer struct {
	grip   *grip     // under which it was asked
	before time.Time // that it was asked
	claims delivery.Claims
	err    error
}

// claim asks for what will be tried soon, if it is time.
func (l *loop) claim(ctx context.Context, now time.Time) {
	if l.claims.asking || now.Before(l.claims.at) {
		return
	}
	limit := l.wanted(now)
	if limit == 0 {
		return
	}
	l.claims.asking, l.claims.again = true, false
	held, lost, known := l.grip, l.claims.lost, l.known()
	go func() {
		ctx, done := context.WithTimeout(ctx, ledgerTimeout)
		defer done()
		got := claimAnswer{grip: held, before: time.Now()}
		if lost {
			got.err = l.o.Ledger.ReleasePushes(ctx, l.o.Sink, held.session, known)
		}
		if got.err == nil {
			got.claims, got.err = l.o.Ledger.ClaimPushes(ctx, l.o.Sink, held.session, l.o.lease(), limit)
		}
		if len(got.claims.List) > 0 {
			l.o.Step(StepClaimed)
		}
		l.claims.answer <- got
	}()
}

// known are the numbers of what this node has claimed: what is still to be recorded counts, too. Only after an answer was lost somebody asks.
func (l *loop) known() []int64 {
	if !l.claims.lost {
		return nil
	}
	return slices.AppendSeq(slices.Collect(maps.Keys(l.jobs)), maps.Keys(l.records.answers.known))
}

// wanted is how many deliveries to claim now: those that there is room for, and as many ahead as the sink takes in a
// moment, but few at a time only when there is nothing else to try.
func (l *loop) wanted(now time.Time) int {
	if l.grip == nil || l.stop.begun || l.records.failed || !l.heldUntil(now).IsZero() {
		return 0
	}
	if l.breaker.look().state == HalfOpen {
		return max(0, 1-len(l.jobs)) // one is enough to see whether the sink is well
	}
	stock := l.o.Concurrency*l.o.Batch.Max + l.pace.ahead(now)
	missing := stock - len(l.jobs)
	if len(l.waiting) >= l.o.Batch.Max && missing < stock/2 {
		return 0
	}
	missing = min(missing, max(mostAhead, 2*l.o.Batch.Max)-len(l.waiting))
	if permitted := l.limits.calls(now.Add(soon)); permitted < missing { // first, lest the product overflows
		missing = min(missing, permitted*l.o.Batch.Max-len(l.waiting))
	}
	return min(max(missing, 0), mostAsked)
}

// askAt is when the ledger is to be asked next; zero = not before something has happened.
func (l *loop) askAt(now time.Time) time.Time {
	if wait := l.limits.ready(now.Add(soon)); wait > 0 {
		return laterOf(l.claims.at, now.Add(wait))
	}
	if now.Before(l.claims.at) {
		return l.claims.at
	}
	return time.Time{} // it is time, but there is no room
}

// take adds what was claimed to what waits.
func (l *loop) take(got claimAnswer) {
	l.claims.asking = false
	defer l.records.answers.forget()
	now := time.Now()
	if got.err != nil {
		if !l.claims.retry.HasFailed() {
			l.o.Logger.Warn("the ledger cannot be asked what is due", "error", got.err)
		}
		l.claims.at, l.claims.lost = now.Add(l.claims.retry.Next()), true
		return
	}
	l.claims.lost = false
	l.claims.retry.Reset()
	list := got.claims.List
	switch next := got.claims.Next; {
	case l.claims.again:
		l.claims.at = now
	case got.claims.More:
		l.claims.at = now
	case next > 0:
		l.claims.at = now.Add(min(max(next, time.Millisecond), pollEvery))
	default:
		l.claims.at = now.Add(pollEvery)
	}
	for i := range list {
		l.add(&list[i], got.before, got.claims.At)
	}
	if got.grip != l.grip {
		l.releaseWaiting()
	}
}

// add takes up one delivery. One that is here already was claimed anew because its lease has ended by the ledger's clock: it is
// tried once, under the later claim. So is one whose answer the ledger had not heard of: that answer counts, under the later claim.
func (l *loop) add(c *delivery.PushClaim, before, at time.Time) {
	if s, known := l.records.answers.of(c); known {
		l.records.add(s...)
		return
	}
	j := l.jobs[c.Seq]
	if j == nil {
		j = &job{}
		l.jobs[c.Seq] = j
		l.waiting = append(l.waiting, j)
	}
	j.PushClaim = *c
	j.startBy = before.Add(l.o.lease() - l.o.Timeout - settleSlack)
	j.goBy, j.ends = before.Add(l.o.Batch.Wait), time.Time{}
	for _, end := range []time.Time{c.Deadline, c.Strategy.Expiry(c.Notice.ExpiresAt)} {
		if end.IsZero() {
			continue
		}
		left := end.Sub(at)
		if here := before.Add(left); j.ends.IsZero() || here.Before(j.ends) {
			j.ends = here
			j.goBy = before.Add(min(l.o.Batch.Wait, left/2))
		}
	}
}

// releaseWaiting gives back what was claimed and is not being tried.
func (l *loop) releaseWaiting() {
	for _, j := range l.waiting {
		l.release(j)
	}
	l.waiting = nil
}

func (l *loop) release(j *job) {
	delete(l.jobs, j.Seq)
	l.records.add(settled(&j.PushClaim, delivery.SettleRelease, delivery.Attempt{}))
}
