package push

import (
	"context"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/retry"
)

const (
	settleEvery = 20 * time.Millisecond // while the sink is busy, answers of so long are recorded together
	mostSettled = 1000                  // in one transaction
	settleSlack = 10 * time.Second      // of the lease is left for the record of an attempt
)

// The pauses of a question to the ledger that failed.
const (
	firstRetry = 100 * time.Millisecond
	mostRetry  = 5 * time.Second
)

// records are answers on their way into the ledger, in one transaction at a time.
type records struct {
	list      []delivery.Settlement // not recorded yet
	answers   answers
	at        time.Time // when the next are recorded
	recording bool
	failed    bool // the ledger did not take the last ones: nothing new is tried before it does
	retry     *retry.Pauses
	answer    chan recordAnswer
}

// recordAnswer is how a record went.
type recordAnswer struct {
	group []delivery.Settlement
	err   error
}

func (r *records) add(list ...delivery.Settlement) { r.list = append(r.list, list...) }

// settle records what there is: at once when the sink was idle or is now, else with what has come within some milliseconds.
func (l *loop) settle(ctx context.Context, now time.Time) {
	r := &l.records
	if r.recording || len(r.list) == 0 {
		return
	}
	if now.Before(l.settleAt()) {
		return
	}
	r.list = latest(r.list)
	n := min(len(r.list), mostSettled)
	group := r.list[:n:n]
	r.list, r.at, r.recording = r.list[n:], now.Add(settleEvery), true
	go func() {
		ctx, done := context.WithTimeout(ctx, ledgerTimeout)
		defer done()
		l.o.Step(StepSettling)
		err := l.o.Ledger.SettlePushes(ctx, group)
		if err == nil {
			l.o.Step(StepSettled)
		}
		r.answer <- recordAnswer{group, err}
	}()
}

// settleAt is when to record what there is; zero = now.
func (l *loop) settleAt() time.Time {
	r := &l.records
	if !r.failed && (len(r.list) >= mostSettled || l.flights == 0 && len(l.waiting) == 0 && !l.claims.asking) { // nothing is about to join them
		return time.Time{}
	}
	return r.at
}

// noted takes the ledger's answer. What it did not take is recorded again with what has come since.
func (l *loop) noted(done recordAnswer) {
	r := &l.records
	r.recording = false
	if done.err != nil {
		if !r.retry.HasFailed() {
			l.o.Logger.Error("what the sink answered cannot be recorded; nothing more is tried until it is", "error", done.err)
		}
		r.failed, r.at = true, time.Now().Add(r.retry.Next())
		r.list = append(done.group, r.list...)
		return
	}
	r.failed = false
	r.retry.Reset()
	counts := map[delivery.SettleKind]int{}
	for _, s := range done.group {
		if r.answers.recorded(&s, l.claims.asking) {
			counts[s.Kind]++
		}
	}
	for kind, outcome := range map[delivery.SettleKind]string{
		delivery.SettleSent: OutcomeSent, delivery.SettleFailed: OutcomeFailed, delivery.SettleAgain: OutcomeRetried,
	} {
		if counts[kind] > 0 {
			l.o.Observer.DeliveryDone(l.o.Sink, outcome, counts[kind])
		}
	}
	if counts[delivery.SettleSent]+counts[delivery.SettleFailed] > 0 {
		l.claims.wake() // the next of their findings may be due
	}
}

// latest keeps one answer for each delivery: that it was sent, because that is true whoever holds it by now, else the one of the
// latest claim. There are several only where the ledger was away for longer than a lease.
func latest(list []delivery.Settlement) []delivery.Settlement {
	place := make(map[int64]int, len(list))
	kept := list[:0:0]
	for _, s := range list {
		i, known := place[s.Seq]
		switch {
		case !known:
			place[s.Seq] = len(kept)
			kept = append(kept, s)
		case kept[i].Kind == delivery.SettleSent:
		case s.Kind == delivery.SettleSent || s.Token >= kept[i].Token:
			kept[i] = s
		}
	}
	return kept
}

// answers are what the channel has said of deliveries, as long as a claim may come that does not know of it.
type answers struct {
	known map[int64]answer // by number
	done  []int64          // recorded while a claim was under way
}

type answer struct {
	delivery.Settlement

	before   int // attempts that were ever made before the one that it answers
	recorded bool
	counted  bool
}

func (a *answers) add(s *delivery.Settlement, before int) {
	switch s.Kind {
	case delivery.SettleSent, delivery.SettleFailed, delivery.SettleAgain:
		a.known[s.Seq] = answer{Settlement: *s, before: before}
	default: // it was not tried
	}
}

// of tells whether the claim does not know of the last answer, and what is to be recorded of it then: that answer under this claim.
// That it was sent is recorded whoever has the claim.
func (a *answers) of(c *delivery.PushClaim) (again []delivery.Settlement, known bool) {
	was, known := a.known[c.Seq]
	switch {
	case !known:
		return nil, false
	case was.Kind == delivery.SettleSent:
		return nil, true
	case c.Ever > was.before: // it does; what an operator has tried again has fewer attempts, but not fewer ever
		delete(a.known, c.Seq)
		return nil, false
	}
	was.Token, was.recorded = c.Token, false
	a.known[c.Seq] = was
	return []delivery.Settlement{was.Settlement}, true
}

// recorded notes that the ledger has the answer, and tells whether that is its first record. A claim that is under way may have been
// made before.
func (a *answers) recorded(s *delivery.Settlement, claiming bool) (first bool) {
	was, known := a.known[s.Seq]
	if !known || was.Token != s.Token {
		return false
	}
	first = !was.counted
	if !claiming {
		delete(a.known, s.Seq)
		return first
	}
	was.recorded, was.counted = true, true
	a.known[s.Seq] = was
	a.done = append(a.done, s.Seq)
	return first
}

// forget drops what every claim from now on knows of.
func (a *answers) forget() {
	for _, seq := range a.done {
		if a.known[seq].recorded {
			delete(a.known, seq)
		}
	}
	a.done = a.done[:0]
}

const (
	endEvery = time.Second
	mostEnd  = 1000 // in one transaction
)

// endLate ends what is past its deadline or whose notice has expired, once a second, whether the sink is held back or not.
func (r *Runner) endLate(ctx context.Context) {
	tick := time.NewTicker(endEvery)
	defer tick.Stop()
	failing := false
	for {
		err := r.endAll(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			r.o.Logger.Warn("deliveries that are too late cannot be ended", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *Runner) endAll(ctx context.Context) error {
	for {
		timedOut, canceled, err := r.endSome(ctx)
		if err != nil {
			return err
		}
		if timedOut > 0 {
			r.o.Observer.DeliveryDone(r.o.Sink, OutcomeTimedOut, timedOut)
		}
		if canceled > 0 {
			r.o.Observer.DeliveryDone(r.o.Sink, OutcomeCanceled, canceled)
		}
		if timedOut+canceled > 0 {
			r.Wake() // the next of their findings may be due
		}
		if timedOut+canceled < mostEnd {
			return nil
		}
	}
}

func (r *Runner) endSome(ctx context.Context) (timedOut, canceled int, err error) {
	ctx, done := context.WithTimeout(ctx, ledgerTimeout)
	defer done()
	return r.o.Ledger.EndPushes(ctx, r.o.Sink, mostEnd)
}
