package rows

import (
	"math"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
)

// Behind is when a delivery is due that waits for an earlier one.
const Behind int64 = math.MaxInt64

// Waiting is a row of pushes.
type Waiting struct {
	Due, First, Deadline, Ends int64
	Created                    int64  // of the notice
	Finding                    *int64 // nil = in no order
	Addressee                  int64
	Strategy
}

// Strategy is the columns of a strategy.
type Strategy struct {
	Kind, Unless      string
	Delay, At, Within int64
	Retry             int32
}

// push makes the row of a delivery of the notice to the recipients; nil unless it goes to a push channel.
func (t *target) push(n *notice.Notice, recipients string) *Waiting {
	if t.strategy == nil {
		return nil
	}
	p := &Waiting{
		Created: Micros(n.CreatedAt), First: Micros(t.strategy.First(n.CreatedAt)), Deadline: Micros(t.strategy.Deadline(n.CreatedAt)), Ends: Micros(n.ExpiresAt),
		Strategy: NewStrategy(t.strategy),
	}
	p.Due = p.First
	if p.Deadline != 0 {
		p.Ends = min(p.Ends, p.Deadline)
	}
	if t.each {
		p.Addressee = int64(hash(recipients)) //nolint:gosec // all 64 bits are used
	}
	if n.Status != notice.Sent {
		finding := FindingOf(n)
		p.Finding = &finding
	}
	return p
}

// NewStrategy makes the columns of a strategy.
func NewStrategy(s *delivery.Strategy) Strategy {
	return Strategy{
		Kind: string(s.Kind), Unless: string(s.Unless), Delay: s.Delay.Microseconds(), At: Micros(s.At),
		Within: s.Within.Microseconds(), Retry: int32(min(s.Retry, math.MaxInt32)), //nolint:gosec // not above it
	}
}

// Strategy is the reverse of NewStrategy.
func (s *Strategy) Strategy() delivery.Strategy {
	return delivery.Strategy{
		Kind: delivery.StrategyKind(s.Kind), Unless: delivery.Unless(s.Unless), Delay: Span(s.Delay), At: Time(s.At),
		Within: Span(s.Within), Retry: int(s.Retry),
	}
}

// Columns returns pointers to the fields in the order that the queries name.
func (s *Strategy) Columns() []any {
	return []any{&s.Kind, &s.Unless, &s.Delay, &s.At, &s.Within, &s.Retry}
}

// Claimed is a claim as the query of claims names its columns.
type Claimed struct {
	Seq, Token, Deadline int64
	Attempts, Ever       int
	Recipients           string
	Strategy
}

// Columns returns pointers to the fields in the order of the query's columns.
func (c *Claimed) Columns() []any {
	return append([]any{&c.Seq, &c.Token, &c.Deadline, &c.Attempts, &c.Ever, &c.Recipients}, c.Strategy.Columns()...)
}

// Claimed is the row with its notice, as the runner of the sink sees it.
func (c *Claimed) Claimed(n *notice.Notice) delivery.Claimed {
	return delivery.Claimed{
		Delivery: delivery.Delivery{Seq: c.Seq, Notice: n, Recipients: Recipients(c.Recipients)},
		Strategy: c.Strategy.Strategy(), Token: c.Token, Attempts: c.Attempts, Ever: c.Ever, Deadline: Time(c.Deadline),
	}
}

// soon is how long to wait for what is due and cannot be had: others are just taking it.
const soon = 10 * time.Millisecond

// ClaimsOf completes the answer to a claim of at most limit, from what was claimed, the time, and when the next open one is
// due (0 = none is), for which nobody need ask where as many were claimed as could be.
func ClaimsOf(list []delivery.Claimed, limit int, now, next int64) delivery.Claims {
	c := delivery.Claims{At: Time(now), List: list}
	switch {
	case len(list) == limit:
		c.More = true
	case next == 0 || next == Behind:
	case next > now:
		c.Next = Span(next - now)
	default:
		c.Next = soon
	}
	return c
}
