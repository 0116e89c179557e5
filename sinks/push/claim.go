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
	pollEvery = 500 * time.Millisecond // a node with room for deliveries asks the ledger at least this often
	mostAsked = 1000                   // the most deliveries of one claim
)

// job is a delivery that this node has claimed.
type job struct {
	delivery.PushClaim

	startBy time.Time // an attempt that begins later might end after the lease
	ends    time.Time // the earlier of its deadline and its expiry, by this node's clock; zero means never
	goBy    time.Time // when its wait for others in the same call ends
	alone   bool      // it goes alone, because the channel has refused the batch that it was in
}

// late tells whether no attempt may begin any more. The ledger must decide again.
func (j *job) late(now time.Time) bool {
	return now.After(j.startBy) || !j.ends.IsZero() && !now.Before(j.ends)
}

// claimState is the state of the loop's claims at the ledger.
type claimState struct {
	at     time.Time // when to claim next
	asking bool
	lost   bool // an answer was lost, so the ledger may hold deliveries for this node that the node does not know
	again  bool // woken since the last claim began
	retry  *retry.Pauses
	answer chan claimAnswer
}

func (a *claimState) wake() { a.at, a.again = time.Time{}, true }

// claimAnswer is the ledger's answer to a claim.
type claimAnswer struct {
	grip   *grip     // the grip under which the claim was made
	before time.Time // a time before the claim was sent
	claims delivery.Claims
	err    error
}

// claim claims deliveries that will be tried soon, if it is time to.
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

// known returns the numbers of the deliveries that this node has claimed, including deliveries whose results are not
// recorded yet. known returns nil unless an answer was lost, because a claim needs the numbers only then.
func (l *loop) known() []int64 {
	if !l.claims.lost {
		return nil
	}
	return slices.AppendSeq(slices.Collect(maps.Keys(l.jobs)), maps.Keys(l.records.answers.known))
}

// wanted returns how many deliveries to claim now. The node wants enough deliveries for all calls, and those that the
// sink takes in a quarter of a second. This number is the stock. wanted returns how many are missing, within the limits
// of the sink. If a full batch waits already, wanted returns 0 until half of the stock is missing.
func (l *loop) wanted(now time.Time) int {
	if l.grip == nil || l.stop.begun || l.records.failed || !l.heldUntil(now).IsZero() {
		return 0
	}
	if l.breaker.look().state == HalfOpen {
		return max(0, 1-len(l.jobs)) // one delivery is enough to see whether the sink works
	}
	stock := l.o.Concurrency*l.o.Batch.Max + l.pace.ahead(now)
	missing := stock - len(l.jobs)
	if len(l.waiting) >= l.o.Batch.Max && missing < stock/2 {
		return 0
	}
	missing = min(missing, max(mostAhead, 2*l.o.Batch.Max)-len(l.waiting))
	// checked first, because the product below could overflow
	if permitted := l.limits.calls(now.Add(soon)); permitted < missing {
		missing = min(missing, permitted*l.o.Batch.Max-len(l.waiting))
	}
	return min(max(missing, 0), mostAsked)
}

// askAt returns when to claim next, or zero if only an event can change anything.
func (l *loop) askAt(now time.Time) time.Time {
	if wait := l.limits.ready(now.Add(soon)); wait > 0 {
		return laterOf(l.claims.at, now.Add(wait))
	}
	if now.Before(l.claims.at) {
		return l.claims.at
	}
	return time.Time{} // it is time, but there is no room
}

// take adds claimed deliveries to the waiting ones.
func (l *loop) take(got claimAnswer) {
	l.claims.asking = false
	defer l.records.answers.forget()
	now := time.Now()
	if got.err != nil {
		if !l.claims.retry.HasFailed() {
			l.o.Logger.Warn("Due deliveries were not claimed from the ledger. The node tries again.", "error", got.err)
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

// add adds one claimed delivery. If the delivery is here already, its lease had ended by the ledger's clock: the node
// tries the delivery once, under the later claim. If the ledger does not have the answer of an earlier attempt yet, add
// records that answer under the later claim.
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

// releaseWaiting releases all claimed deliveries that are not being tried.
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
