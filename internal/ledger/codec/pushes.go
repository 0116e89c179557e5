package codec

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// Behind is the due time of a delivery that waits behind an earlier one.
const Behind int64 = math.MaxInt64

// Never is the expiry of a delivery with until: sent.
const Never int64 = math.MaxInt64

// PushRow is a row of pushes.
type PushRow struct {
	Due, First, Deadline, Ends int64
	Finding                    *int64 // nil = the delivery is not in any order
	Addressee                  int64
	Strategy
}

// Strategy has the columns of a strategy.
type Strategy struct {
	Kind, Unless      string
	Delay, At, Within int64
	Retry             int32
	Endless           bool // read from the delivery: it expires at Never
}

// push makes the row of a delivery of the notice to the recipients; nil unless the target is a push channel.
func (t *target) push(n *notice.Notice, recipients string) *PushRow {
	if t.strategy == nil {
		return nil
	}
	p := &PushRow{
		First: Micros(t.strategy.First(n.CreatedAt)), Deadline: Micros(t.strategy.Deadline(n.CreatedAt)), Ends: t.expires(n),
		Strategy: NewStrategy(t.strategy),
	}
	p.Due = p.First
	if p.Deadline != 0 {
		p.Ends = min(p.Ends, p.Deadline)
	}
	if t.each {
		p.Addressee = int64(hash(recipients)) //nolint:gosec // all 64 bits are used
	}
	if IsOrdered(n) {
		finding := FindingOf(n)
		p.Finding = &finding
	}
	return p
}

// expires returns when a delivery of the notice is of no use any more.
func (t *target) expires(n *notice.Notice) int64 {
	if t.strategy != nil && t.strategy.Expiry(n.ExpiresAt).IsZero() {
		return Never
	}
	return Micros(n.ExpiresAt)
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
	out := delivery.Strategy{
		Kind: delivery.StrategyKind(s.Kind), Unless: delivery.Unless(s.Unless), Delay: Span(s.Delay), At: Time(s.At),
		Within: Span(s.Within), Retry: int(s.Retry),
	}
	if s.Endless {
		out.Until = delivery.UntilSent
	}
	return out
}

// Columns returns pointers to the fields in the order that the queries name.
func (s *Strategy) Columns() []any {
	return []any{&s.Kind, &s.Unless, &s.Delay, &s.At, &s.Within, &s.Retry, &s.Endless}
}

// ClaimRow is a row of the query of claims.
type ClaimRow struct {
	Seq, Token, Deadline int64
	Attempts, Ever       int
	Recipients           string
	Strategy
}

// Columns returns pointers to the fields in the order of the query's columns.
func (c *ClaimRow) Columns() []any {
	return append([]any{&c.Seq, &c.Token, &c.Deadline, &c.Attempts, &c.Ever, &c.Recipients}, c.Strategy.Columns()...)
}

// Claimed returns the row and its notice in the form for the sink's runner.
func (c *ClaimRow) Claimed(n *notice.Notice) delivery.PushClaim {
	return delivery.PushClaim{
		Delivery: delivery.Delivery{Seq: c.Seq, Notice: n, Recipients: Recipients(c.Recipients)},
		Strategy: c.Strategy.Strategy(), Token: c.Token, Attempts: c.Attempts, Ever: c.Ever, Deadline: Time(c.Deadline),
	}
}

// soon is the wait while a delivery is due but cannot be claimed, because another node is just claiming it.
const soon = 10 * time.Millisecond

// ClaimsOf completes the result of a claim of at most limit deliveries. now is the time of the claim. next is when
// the next open delivery is due (0 = none); callers need not query next where the claim reached its limit.
func ClaimsOf(list []delivery.PushClaim, limit int, now, next int64) delivery.Claims {
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

// Settle has the settlements of one call, grouped by kind. A delivery is in it once: a sent settlement wins,
// otherwise the last one.
type Settle struct {
	Sent    SettleColumns
	Failed  SettleColumns
	Again   SettleColumns
	Release SettleColumns
	Hold    SettleColumns
}

// SettleColumns has the columns of settlements of one kind.
type SettleColumns struct {
	Seqs, Tokens []int64
	Errors       []string
	After        []int64  // µs
	Ago          []int64  // µs from the start of each attempt until now
	Attempts     []string // encoded by Attempt; "" = not kept
	HeldBy       []string // only for SettleHold
}

// NewSettle groups the settlements by kind. Each kind is sorted by number, because statements lock the rows in that
// order.
func NewSettle(list []delivery.Settlement) *Settle {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b delivery.Settlement) int { return cmp.Compare(a.Seq, b.Seq) })
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
			out.Sent.add(&list[i])
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

// farthest bounds the delay of an attempt, so that no sum with it overflows.
const farthest = 10 * 366 * 24 * time.Hour

func (s *SettleColumns) add(one *delivery.Settlement) {
	s.Seqs = append(s.Seqs, one.Seq)
	s.Tokens = append(s.Tokens, one.Token)
	s.Errors = append(s.Errors, Text(one.Error))
	s.After = append(s.After, min(max(one.After, 0), farthest).Microseconds())
	ago, attempt := int64(0), ""
	if one.Kind != delivery.SettleHold && (one.Kind != delivery.SettleRelease || one.Error != "") {
		ago, attempt = Attempt(&one.Attempt)
	}
	s.Ago, s.Attempts = append(s.Ago, ago), append(s.Attempts, attempt)
}

// OnlySent tells whether there are only sent settlements.
func (s *Settle) OnlySent() bool {
	return len(s.Failed.Seqs)+len(s.Again.Seqs)+len(s.Release.Seqs)+len(s.Hold.Seqs) == 0
}

// Ended returns the deliveries that may end by these settlements.
func (s *Settle) Ended() []int64 {
	return slices.Concat(s.Sent.Seqs, s.Failed.Seqs)
}

// All returns all deliveries of the settlements.
func (s *Settle) All() []int64 {
	return slices.Concat(s.Ended(), s.Again.Seqs, s.Release.Seqs, s.Hold.Seqs)
}

// DeliveryRecord is a row of the query that lists deliveries with their notices. The columns for push channels are
// empty for other deliveries.
type DeliveryRecord struct {
	DeliveryTrace
	Body          []byte
	Strategy      Strategy
	Due, Deadline int64
	Node          string
	Claimed       bool
	Held          string
	InFront       int64
}

// Columns returns pointers to the fields in the order of the query's columns.
func (d *DeliveryRecord) Columns() []any {
	columns := append(d.DeliveryTrace.Columns(), &d.Body)
	columns = append(columns, d.Strategy.Columns()...)
	return append(columns, &d.Due, &d.Deadline, &d.Node, &d.Claimed, &d.Held, &d.InFront)
}

// Record returns the row in the ledger's form.
func (d *DeliveryRecord) Record() (ledger.DeliveryRecord, error) {
	n, err := notice.Unmarshal(d.Body)
	if err != nil {
		return ledger.DeliveryRecord{}, err
	}
	out := ledger.DeliveryRecord{
		DeliveryTrace: d.Trace(), Notice: n.ID, Type: n.Type, Rule: n.Rule, Status: string(n.Status), Where: n.Warehouse,
		Title: n.Title, Texts: n.Texts, Created: n.CreatedAt, Expires: n.ExpiresAt, Deadline: Time(d.Deadline), HeldBy: d.Held, InFront: d.InFront,
	}
	if d.Strategy.Kind != "" {
		s := d.Strategy.Strategy()
		out.Strategy = &s
	}
	if out.Behind = d.Due == Behind; !out.Behind {
		out.Next = Time(d.Due)
	}
	if d.Claimed {
		out.Node, out.HeldBy = delivery.NodeName(d.Node), ""
	}
	return out, nil
}
