package push

import (
	"errors"
	"slices"
	"time"

	"tallyman/internal/delivery"
	"tallyman/sinks"
)

// errCut is the error of an attempt that this node has cut off, because the node stops or its session has ended. Nobody
// knows whether the channel took the delivery.
var errCut = errors.New("the node cut the call off before the channel answered")

// verdict is what happens to the deliveries of one call.
type verdict struct {
	settled []delivery.Settlement
	rest    []int64 // not taken because of others in the batch: tried again now, and no attempt is counted
	alone   bool    // each of the rest goes alone, because the channel has refused the whole batch
}

// judge decides by the strategies and the channel's answer. docs/reference/rule-file.md has the table (Deliver). made has
// the error text for people.
func judge(batch []delivery.PushClaim, err error, made delivery.Attempt, chance func() float64) verdict {
	refused := refusedOf(batch, err)
	switch {
	case err == nil:
		return verdict{settled: each(batch, func(c *delivery.PushClaim) delivery.Settlement { return settled(c, delivery.SettleSent, made) })}
	case errors.Is(err, errCut):
		if made.At.IsZero() { // the channel was not called
			made = delivery.Attempt{}
		}
		return verdict{settled: each(batch, func(c *delivery.PushClaim) delivery.Settlement { return settled(c, delivery.SettleRelease, made) })}
	case refused == nil:
		return verdict{settled: each(batch, func(c *delivery.PushClaim) delivery.Settlement { return transient(c, err, made, chance()) })}
	case len(batch) > 1 && len(refused) == len(batch): // any of them may be at fault
		return verdict{rest: seqs(batch), alone: true}
	}
	var v verdict
	made.Refused = true
	for i := range batch {
		if c := &batch[i]; refused[c.Seq] {
			v.settled = append(v.settled, settled(c, delivery.SettleFailed, made))
		} else {
			v.rest = append(v.rest, c.Seq)
		}
	}
	return v
}

// transient returns what happens to a delivery that the channel could not take now.
func transient(c *delivery.PushClaim, err error, made delivery.Attempt, chance float64) delivery.Settlement {
	if !triesAgain(c) {
		return settled(c, delivery.SettleFailed, made)
	}
	s := settled(c, delivery.SettleAgain, made)
	s.After = max(backoff(c.Attempts, chance), asked(err))
	return s
}

// triesAgain tells whether the strategy has another attempt after a transient error. The ledger ends timed deliveries.
func triesAgain(c *delivery.PushClaim) bool {
	switch c.Strategy.Kind {
	case delivery.Immediate:
		return false
	case delivery.Delayed:
		return c.Attempts < c.Strategy.Retry
	default: // important, timed
		return true
	}
}

// refusedOf returns the deliveries that the channel will never take. refusedOf returns nil if err is not a refusal, or
// names deliveries outside the batch.
func refusedOf(batch []delivery.PushClaim, err error) map[int64]bool {
	refused, ok := errors.AsType[*sinks.RefusedError](err)
	if !ok || len(refused.Seqs) == 0 {
		return nil
	}
	all := map[int64]bool{}
	for _, seq := range refused.Seqs {
		if !slices.ContainsFunc(batch, func(c delivery.PushClaim) bool { return c.Seq == seq }) {
			return nil
		}
		all[seq] = true
	}
	return all
}

func settled(c *delivery.PushClaim, kind delivery.SettleKind, made delivery.Attempt) delivery.Settlement {
	return delivery.Settlement{Seq: c.Seq, Token: c.Token, Kind: kind, Attempt: made}
}

func each(batch []delivery.PushClaim, of func(*delivery.PushClaim) delivery.Settlement) []delivery.Settlement {
	list := make([]delivery.Settlement, len(batch))
	for i := range batch {
		list[i] = of(&batch[i])
	}
	return list
}

func seqs(batch []delivery.PushClaim) []int64 {
	list := make([]int64, len(batch))
	for i := range batch {
		list[i] = batch[i].Seq
	}
	return list
}

const (
	firstBackoff = time.Second
	mostBackoff  = 5 * time.Minute
	leastBackoff = 100 * time.Millisecond // so that there is always a pause
	mostLater    = time.Hour              // the longest pause that a channel may ask for
)

// backoff returns the pause of a delivery after a failed attempt. before is the number of earlier attempts. The pause
// is full jitter over a window of 1 s that doubles with each attempt, up to 5 min. chance in [0, 1) picks the point in
// the window, from 100 ms on.
func backoff(before int, chance float64) time.Duration {
	window := mostBackoff
	if doublings := max(before, 0); doublings < 9 { // 1 s × 2^9 is above the maximum
		window = min(firstBackoff<<doublings, mostBackoff)
	}
	return leastBackoff + time.Duration(chance*float64(window-leastBackoff))
}

// asked returns the pause that the channel has asked for, at most an hour, or 0.
func asked(err error) time.Duration {
	if later, ok := errors.AsType[*sinks.LaterError](err); ok {
		return min(max(later.After, 0), mostLater)
	}
	return 0
}
