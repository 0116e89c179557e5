package push

import "tallyman/internal/delivery"

// answers are what the channel has said of deliveries, as long as a claim may come that does not know of it.
type answers struct {
	known map[int64]answer // by number
	done  []int64          // recorded while a claim was under way
}

type answer struct {
	delivery.Settled

	before   int // attempts that were ever made before the one that it answers
	recorded bool
	counted  bool
}

func (a *answers) add(s *delivery.Settled, before int) {
	switch s.Kind {
	case delivery.SettleSent, delivery.SettleFailed, delivery.SettleAgain:
		a.known[s.Seq] = answer{Settled: *s, before: before}
	default: // it was not tried
	}
}

// of tells whether the claim does not know of the last answer, and what is to be recorded of it then: that answer under this claim.
// That it was sent is recorded whoever has the claim.
func (a *answers) of(c *delivery.Claimed) (again []delivery.Settled, known bool) {
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
	return []delivery.Settled{was.Settled}, true
}

// recorded notes that the ledger has the answer, and tells whether that is its first record. A claim that is under way may have been
// made before.
func (a *answers) recorded(s *delivery.Settled, claiming bool) (first bool) {
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
