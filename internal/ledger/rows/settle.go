package rows

import (
	"slices"
	"time"

	"tallyman/internal/delivery"
)

// Settle is what is to be recorded of attempts, by kind. A delivery comes once: sent counts before all else, and else the last word.
type Settle struct {
	Sent    []int64
	Failed  Settled
	Again   Settled
	Release Settled
	Hold    Settled
}

// Settled are the columns of attempts that ended alike.
type Settled struct {
	Seqs, Tokens []int64
	Errors       []string
	After        []int64  // µs
	HeldBy       []string // of Hold
}

// NewSettle sorts them.
func NewSettle(list []delivery.Settled) *Settle {
	last := make(map[int64]int, len(list))
	for i := range list {
		if at, ok := last[list[i].Seq]; !ok || list[at].Kind != delivery.SettleSent {
			last[list[i].Seq] = i
		}
	}
	var out Settle
	for i := range list {
		if last[list[i].Seq] != i {
			continue
		}
		switch list[i].Kind {
		case delivery.SettleSent:
			out.Sent = append(out.Sent, list[i].Seq)
		case delivery.SettleFailed:
			out.Failed.add(&list[i])
		case delivery.SettleAgain:
			out.Again.add(&list[i])
		case delivery.SettleRelease:
			out.Release.add(&list[i])
		case delivery.SettleHold:
			out.Hold.add(&list[i])
			out.Hold.HeldBy = append(out.Hold.HeldBy, list[i].HeldBy)
		}
	}
	return &out
}

// farthest is how far an attempt may be put off: no sum with it overflows.
const farthest = 10 * 366 * 24 * time.Hour

func (s *Settled) add(one *delivery.Settled) {
	s.Seqs = append(s.Seqs, one.Seq)
	s.Tokens = append(s.Tokens, one.Token)
	s.Errors = append(s.Errors, Text(one.Error))
	s.After = append(s.After, min(max(one.After, 0), farthest).Microseconds())
}

// OnlySent tells that there is nothing to record but what was sent.
func (s *Settle) OnlySent() bool {
	return len(s.Failed.Seqs)+len(s.Again.Seqs)+len(s.Release.Seqs)+len(s.Hold.Seqs) == 0
}

// Ended returns the deliveries that may end.
func (s *Settle) Ended() []int64 {
	return append(append(make([]int64, 0, len(s.Sent)+len(s.Failed.Seqs)), s.Sent...), s.Failed.Seqs...)
}

// All returns all of them.
func (s *Settle) All() []int64 {
	return slices.Concat(s.Ended(), s.Again.Seqs, s.Release.Seqs, s.Hold.Seqs)
}
