package push

import (
	"errors"
	"slices"

	"tallyman/sinks"
)

// errCut is why an attempt ended that the stop of this node has cut off. Nobody knows whether it was taken.
var errCut = errors.New("the node stopped before the channel answered")

// verdict is what becomes of the deliveries of one call.
type verdict struct {
	settled []sinks.Settled
	rest    []int64 // not taken through no fault of theirs: to be tried again now, as no attempt counts
	alone   bool    // each of the rest in a call of its own: the channel has refused the whole batch
}

// judge decides by the strategies and the channel's answer; DESIGN.md section 8 has the table. text is the error for people.
func judge(batch []sinks.Claimed, err error, text string, chance func() float64) verdict {
	refused := refusedOf(batch, err)
	switch {
	case err == nil:
		return verdict{settled: each(batch, func(c *sinks.Claimed) sinks.Settled { return settled(c, sinks.SettleSent, "") })}
	case errors.Is(err, errCut):
		return verdict{settled: each(batch, func(c *sinks.Claimed) sinks.Settled { return settled(c, sinks.SettleRelease, "") })}
	case refused == nil:
		return verdict{settled: each(batch, func(c *sinks.Claimed) sinks.Settled { return transient(c, err, text, chance()) })}
	case len(batch) > 1 && len(refused) == len(batch): // one of them may be at fault for all
		return verdict{rest: seqs(batch), alone: true}
	}
	var v verdict
	for i := range batch {
		if c := &batch[i]; refused[c.Seq] {
			v.settled = append(v.settled, settled(c, sinks.SettleFailed, text))
		} else {
			v.rest = append(v.rest, c.Seq)
		}
	}
	return v
}

// transient is what becomes of a delivery whose channel could not take it now.
func transient(c *sinks.Claimed, err error, text string, chance float64) sinks.Settled {
	if !triesAgain(c) {
		return settled(c, sinks.SettleFailed, text)
	}
	s := settled(c, sinks.SettleAgain, text)
	s.After = max(backoff(c.Attempts, chance), asked(err))
	return s
}

// triesAgain tells whether the strategy has another attempt after one that failed for a while. The end of a timed one is the ledger's.
func triesAgain(c *sinks.Claimed) bool {
	switch c.Strategy.Kind {
	case sinks.Immediate:
		return false
	case sinks.Delayed:
		return c.Attempts < c.Strategy.Retry
	default: // important, timed
		return true
	}
}

// refusedOf returns the numbers that the channel will never take; nil where the error does not say that of deliveries of the batch.
func refusedOf(batch []sinks.Claimed, err error) map[int64]bool {
	refused, ok := errors.AsType[*sinks.RefusedError](err)
	if !ok || len(refused.Seqs) == 0 {
		return nil
	}
	all := map[int64]bool{}
	for _, seq := range refused.Seqs {
		if !slices.ContainsFunc(batch, func(c sinks.Claimed) bool { return c.Seq == seq }) {
			return nil
		}
		all[seq] = true
	}
	return all
}

func settled(c *sinks.Claimed, kind sinks.SettleKind, text string) sinks.Settled {
	return sinks.Settled{Seq: c.Seq, Token: c.Token, Kind: kind, Error: text}
}

func each(batch []sinks.Claimed, of func(*sinks.Claimed) sinks.Settled) []sinks.Settled {
	list := make([]sinks.Settled, len(batch))
	for i := range batch {
		list[i] = of(&batch[i])
	}
	return list
}

func seqs(batch []sinks.Claimed) []int64 {
	list := make([]int64, len(batch))
	for i := range batch {
		list[i] = batch[i].Seq
	}
	return list
}
