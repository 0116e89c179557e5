package push

import (
	"context"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/retry"
)

const (
	// while the sink is busy, answers are collected for this long and recorded together
	settleEvery = 20 * time.Millisecond
	mostSettled = 1000             // in one transaction
	settleSlack = 10 * time.Second // the part of the lease that is left for recording an attempt
)

// The pauses after a failed call to the ledger.
const (
	firstRetry = 100 * time.Millisecond
	mostRetry  = 5 * time.Second
)

// records are answers on their way to the ledger, in one transaction at a time.
type records struct {
	list      []delivery.Settlement // not recorded yet
	answers   answers
	at        time.Time // when to record next
	recording bool
	failed    bool // the ledger did not take the last answers; nothing new is tried until it does
	retry     *retry.Pauses
	answer    chan recordAnswer
}

// recordAnswer is the ledger's answer to one transaction.
type recordAnswer struct {
	group []delivery.Settlement
	err   error
}

func (r *records) add(list ...delivery.Settlement) { r.list = append(r.list, list...) }

// settle records the waiting answers: at once if the sink is idle, or else together with the answers of some
// milliseconds.
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

// settleAt returns when to record the waiting answers; zero means now.
func (l *loop) settleAt() time.Time {
	r := &l.records
	// no other answers are about to come
	if !r.failed && (len(r.list) >= mostSettled || l.flights == 0 && len(l.waiting) == 0 && !l.claims.asking) {
		return time.Time{}
	}
	return r.at
}

// noted handles the ledger's answer. Answers that the ledger did not take are recorded again, together with newer ones.
func (l *loop) noted(done recordAnswer) {
	r := &l.records
	r.recording = false
	if done.err != nil {
		if !r.retry.HasFailed() {
			l.o.Logger.Error("Answers of the sink were not recorded. Nothing more is tried until the ledger takes them.",
				"error", done.err)
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
		l.claims.wake() // the next delivery of the same finding may be due
	}
}

// latest keeps one answer for each delivery. "Sent" wins, because it is true whichever node has the claim. Otherwise
// the answer of the latest claim wins. There is more than one answer only if the ledger was unavailable for longer than
// a lease.
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

// answers are the channel's answers. A claim may arrive that the ledger made before the ledger had the answer. Until
// that is impossible, the answer is kept.
type answers struct {
	known map[int64]answer // by number
	done  []int64          // recorded while a claim was under way
}

type answer struct {
	delivery.Settlement

	before   int // attempts that were made before the attempt of this answer
	recorded bool
	counted  bool
}

func (a *answers) add(s *delivery.Settlement, before int) {
	switch s.Kind {
	case delivery.SettleSent, delivery.SettleFailed, delivery.SettleAgain:
		a.known[s.Seq] = answer{Settlement: *s, before: before}
	default: // the delivery was not tried
	}
}

// of returns known = true if this node has an answer that the claim does not know of. again then has the answer under
// the new claim, to be recorded again. "Sent" needs no second record, because the ledger records it whichever node has
// the claim.
func (a *answers) of(c *delivery.PushClaim) (again []delivery.Settlement, known bool) {
	was, known := a.known[c.Seq]
	switch {
	case !known:
		return nil, false
	case was.Kind == delivery.SettleSent:
		return nil, true
	case c.Ever > was.before: // the claim knows the answer; Ever never decreases, even when an operator retries a delivery
		delete(a.known, c.Seq)
		return nil, false
	}
	was.Token, was.recorded = c.Token, false
	a.known[c.Seq] = was
	return []delivery.Settlement{was.Settlement}, true
}

// recorded notes that the ledger has the answer, and returns true if it is recorded for the first time. A claim under
// way may have been made before, so the answer is kept until that claim has arrived.
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

// forget removes answers that every later claim knows of.
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

// endLate ends deliveries that are past their deadlines or whose notices have expired, once a second, even while the
// sink is held back.
func (r *Runner) endLate(ctx context.Context) {
	tick := time.NewTicker(endEvery)
	defer tick.Stop()
	failing := false
	for {
		err := r.endAll(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			r.o.Logger.Warn("Late deliveries were not ended. The node tries again every second.", "error", err)
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
			r.Wake() // the next delivery of the same finding may be due
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
