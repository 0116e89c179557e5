package push_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
)

// The states of a delivery, as the ledger numbers them.
const (
	pending = iota
	sent
	failed
	timedOut
	canceled
)

// memory is the ledger's part that a runner needs, as internal/ledger describes it. Its clock can jump.
type memory struct {
	mu     sync.Mutex
	skew   time.Duration
	away   error // what every call answers while the ledger is away
	rows   []*row
	claims atomic.Int64
	groups [][]delivery.Settlement
	deaf   int    // answers to so many claims are lost
	onWay  func() // how long a question what is due takes to get here; nil = no time
}

// row is a delivery in memory.
type row struct {
	delivery.PushClaim

	finding  string
	state    int
	due      time.Time // of the next attempt
	first    time.Time
	leased   time.Time // claimed until then
	node     string    // by which
	ends     time.Time // its end by the bubble's clock, as the last claim could see it
	failure  string
	ended    time.Time // by the bubble's clock, which does not jump; of the first end
	settles  []delivery.SettleKind
	tried    []delivery.Attempt // the first one first
	attempts int
	forgiven int // those before an operator had it tried again
}

func (m *memory) now() time.Time { return time.Now().Add(m.skew) }

// jump moves the ledger's clock.
func (m *memory) jump(by time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.skew += by
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away = err
}

// add commits a delivery and returns its number. A finding of "" has no order.
func (m *memory) add(finding string, s delivery.Strategy, life time.Duration) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	created := m.now()
	r := &row{finding: finding, first: s.First(created)}
	r.Seq = int64(len(m.rows) + 1)
	r.Strategy, r.Deadline, r.due = s, s.Deadline(created), r.first
	r.Notice = &notice.Notice{ID: fmt.Sprintf("n_%d", r.Seq), CreatedAt: created, ExpiresAt: created.Add(life)}
	m.rows = append(m.rows, r)
	return r.Seq
}

// behind tells whether an earlier delivery of the finding is open.
func (m *memory) behind(r *row) bool {
	return r.finding != "" && slices.ContainsFunc(m.rows, func(o *row) bool {
		return o.Seq < r.Seq && o.finding == r.finding && o.state == pending
	})
}

func (m *memory) over(r *row, now time.Time) bool {
	return !r.Deadline.IsZero() && !now.Before(r.Deadline) || !now.Before(r.expires())
}

// expires is when the delivery is of no use any more, until: sent after all the tests.
func (r *row) expires() time.Time {
	if e := r.Strategy.Expiry(r.Notice.ExpiresAt); !e.IsZero() {
		return e
	}
	return r.Notice.ExpiresAt.AddDate(100, 0, 0)
}

func (m *memory) ClaimPushes(_ context.Context, _, node string, lease time.Duration, limit int) (delivery.Claims, error) {
	if m.onWay != nil {
		m.onWay()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away != nil {
		return delivery.Claims{}, m.away
	}
	m.claims.Add(1)
	now := m.now()
	got := delivery.Claims{At: now}
	var open []*row
	for _, r := range m.rows {
		if r.state == pending && !m.over(r, now) && !m.behind(r) {
			open = append(open, r)
		}
	}
	at := func(r *row) time.Time {
		if r.leased.After(r.due) {
			return r.leased
		}
		return r.due
	}
	slices.SortStableFunc(open, func(a, b *row) int { return at(a).Compare(at(b)) })
	for _, r := range open {
		switch wait := at(r).Sub(now); {
		case wait <= 0 && len(got.List) < limit:
			r.node, r.leased, r.ends = node, now.Add(lease), time.Now().Add(r.expires().Sub(now))
			if left := r.Deadline.Sub(now); !r.Deadline.IsZero() && left < r.expires().Sub(now) {
				r.ends = time.Now().Add(left)
			}
			r.Token++
			c := r.PushClaim
			c.Attempts, c.Ever = r.attempts-r.forgiven, r.attempts
			got.List = append(got.List, c)
		case wait <= 0:
			return m.reply(delivery.Claims{At: now, List: got.List, More: true})
		case got.Next == 0 || wait < got.Next:
			got.Next = wait
		}
	}
	return m.reply(got)
}

// reply is the answer to a claim, unless it is lost on the way.
func (m *memory) reply(got delivery.Claims) (delivery.Claims, error) {
	if len(got.List) == 0 || m.deaf == 0 {
		return got, nil
	}
	m.deaf--
	return delivery.Claims{}, errAnswerLost
}

var errAnswerLost = errors.New("the connection broke before the answer")

// loseAnswers has the answers to the next claims lost that give something.
func (m *memory) loseAnswers(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deaf = n
}

func (m *memory) ReleasePushes(_ context.Context, _, node string, known []int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.rows {
		if m.away == nil && r.state == pending && r.node == node && !slices.Contains(known, r.Seq) {
			r.leased = time.Time{}
		}
	}
	return m.away
}

func (m *memory) SettlePushes(_ context.Context, list []delivery.Settlement) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away != nil {
		return m.away
	}
	m.groups = append(m.groups, list)
	for _, s := range list {
		m.settle(m.rows[s.Seq-1], s)
	}
	return nil
}

func (m *memory) settle(r *row, s delivery.Settlement) {
	r.settles = append(r.settles, s.Kind)
	if s.Kind != delivery.SettleSent && (r.state != pending || s.Token != r.Token) {
		return
	}
	now := m.now()
	if s.Kind != delivery.SettleRelease || s.Error != "" {
		r.tried = append(r.tried, s.Attempt)
	}
	if s.Kind != delivery.SettleRelease {
		r.attempts++
		r.failure = s.Error
	}
	r.leased = time.Time{}
	switch s.Kind {
	case delivery.SettleSent:
		m.end(r, sent)
	case delivery.SettleFailed:
		m.end(r, failed)
	case delivery.SettleAgain:
		r.due = now.Add(s.After)
	default:
		r.due = now
	}
}

// end ends a delivery; the next of its finding is due from now on.
func (m *memory) end(r *row, state int) {
	if r.state == pending {
		r.ended = time.Now()
	}
	r.state, r.leased = state, time.Time{}
	for _, o := range m.rows {
		if o.finding == r.finding && o.finding != "" && o.Seq > r.Seq && o.state == pending {
			o.due = latestOf(o.due, m.now())
			return
		}
	}
}

func (m *memory) EndPushes(_ context.Context, _ string, limit int) (late, expired int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away != nil {
		return 0, 0, m.away
	}
	now := m.now()
	for _, r := range m.rows {
		if late+expired == limit {
			break
		}
		switch {
		case r.state != pending:
		case !r.Deadline.IsZero() && !now.Before(r.Deadline):
			m.end(r, timedOut)
			late++
		case !now.Before(r.expires()):
			m.end(r, canceled)
			expired++
		}
	}
	return late, expired, nil
}

// retry is what an operator does: it is due at once, and its strategy counts from here on.
func (m *memory) retry(seq int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.rows[seq-1]
	r.state, r.due, r.forgiven = pending, m.now(), r.attempts
}

// row returns a copy of a delivery.
func (m *memory) row(seq int64) row {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *m.rows[seq-1]
}

// states counts the deliveries by their states.
func (m *memory) states() map[int]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := map[int]int{}
	for _, r := range m.rows {
		n[r.state]++
	}
	return n
}

var errAway = errors.New("the ledger is away")

func latestOf(a, b time.Time) time.Time {
	return slices.MaxFunc([]time.Time{a, b}, func(a, b time.Time) int { return cmp.Compare(a.UnixNano(), b.UnixNano()) })
}
