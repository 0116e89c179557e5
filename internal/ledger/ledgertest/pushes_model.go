package ledgertest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

// pushModel is a simple model of how a ledger must treat the deliveries of one push channel.
type pushModel struct {
	now    time.Time
	pushes []*modelPush // by seq
}

// modelPush is a delivery in the model.
type modelPush struct {
	seq      int64
	key      string
	strategy delivery.Strategy
	expires  time.Time

	state     ledger.DeliveryState
	attempts  int
	forgiven  int
	lastError string
	due       time.Time
	until     time.Time // end of the lease
	first     time.Time
	deadline  time.Time
	behind    bool
	node      string // node of the claim that is not settled yet
	token     int64
}

func (p *modelPush) open() bool { return p.state == ledger.DeliveryPending }

func (p *modelPush) claimed(now time.Time) bool {
	return p.open() && p.until.After(now)
}

// expired returns whether the delivery ends because its notice has expired.
func (p *modelPush) expired(now time.Time) bool {
	return p.strategy.Until == "" && !p.expires.After(now)
}

func (p *modelPush) over(now time.Time) bool {
	return p.expired(now) || !p.deadline.IsZero() && !p.deadline.After(now)
}

func (m *pushModel) openOf(key string) []*modelPush {
	var out []*modelPush
	for _, p := range m.pushes {
		if p.open() && p.key == key {
			out = append(out, p)
		}
	}
	return out
}

// first returns the number of the finding's delivery that goes first, or 0.
func (m *pushModel) first(key string) int64 {
	for _, p := range m.openOf(key) {
		if !p.behind {
			return p.seq
		}
	}
	return 0
}

func (m *pushModel) add(p *modelPush) {
	p.behind = len(m.openOf(p.key)) > 0
	p.due = p.first
	m.pushes = append(m.pushes, p)
}

func (m *pushModel) claim(node string, limit int, lease time.Duration) []*modelPush {
	var due []*modelPush
	for _, p := range m.pushes {
		if p.open() && !p.behind && !p.due.After(m.now) && !p.until.After(m.now) && !p.over(m.now) {
			due = append(due, p)
		}
	}
	slices.SortFunc(due, func(a, b *modelPush) int { return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.seq, b.seq)) })
	due = due[:min(limit, len(due))]
	for _, p := range due {
		p.node, p.until = node, m.now.Add(lease)
		p.token++
	}
	return due
}

func (m *pushModel) settle(p *modelPush, token int64, kind delivery.SettleKind, after time.Duration) {
	inForce := p.open() && p.node != "" && p.token == token
	switch {
	case kind == delivery.SettleSent && p.state != ledger.DeliverySent:
		p.attempts++
		m.end(p, ledger.DeliverySent, "")
	case kind == delivery.SettleFailed && inForce:
		p.attempts++
		m.end(p, ledger.DeliveryFailed, "no route")
	case kind == delivery.SettleAgain && inForce:
		p.attempts++
		p.lastError, p.node, p.until, p.due = "no route", "", time.Time{}, m.now.Add(after)
	case kind == delivery.SettleRelease && inForce:
		p.node, p.until = "", time.Time{}
	}
}

// end ends a delivery. If all other pending deliveries of its finding wait behind another one, end releases the first
// of them.
func (m *pushModel) end(p *modelPush, state ledger.DeliveryState, cause string) {
	p.state, p.lastError, p.node, p.until, p.behind = state, cause, "", time.Time{}, false
	m.release(p.key)
}

func (m *pushModel) release(key string) {
	open := m.openOf(key)
	if len(open) > 0 && !slices.ContainsFunc(open, func(p *modelPush) bool { return !p.behind }) {
		open[0].behind, open[0].due = false, latest(open[0].first, m.now)
	}
}

func (m *pushModel) endOver() (timedOut, canceled int) {
	for _, p := range m.pushes {
		switch {
		case !p.open() || !p.over(m.now):
		case p.deadline.IsZero() || p.expires.Before(p.deadline):
			canceled++
			m.end(p, ledger.DeliveryCanceled, "the notice has expired")
		default:
			timedOut++
			m.end(p, ledger.DeliveryTimedOut, cmp.Or(p.lastError, "the deadline passed before the first attempt"))
		}
	}
	return timedOut, canceled
}

// cancel ends all of the deliveries before it releases others.
func (m *pushModel) cancel(list []*modelPush, reason string) (changed []int64) {
	for _, p := range list {
		if p.open() {
			p.state, p.lastError, p.node, p.until, p.behind = ledger.DeliveryCanceled, reason, "", time.Time{}, false
			changed = append(changed, p.seq)
		}
	}
	for _, p := range list {
		m.release(p.key)
	}
	return changed
}

func (m *pushModel) retry(list []*modelPush) (changed []int64) {
	for _, p := range list {
		switch {
		case p.state == ledger.DeliverySent || p.open() && (p.claimed(m.now) || p.over(m.now)) || p.expired(m.now):
			continue
		case p.open():
			p.first = earliest(p.first, m.now)
			if !p.behind {
				p.due = earliest(p.due, m.now)
			}
		default:
			if p.state == ledger.DeliveryCanceled {
				p.lastError = ""
			}
			p.state, p.strategy.Unless, p.first, p.behind = ledger.DeliveryPending, "", m.now, true
			if p.strategy.Kind == delivery.Timed {
				p.deadline = m.now.Add(p.strategy.Within)
			}
		}
		p.forgiven = p.attempts
		changed = append(changed, p.seq)
	}
	for _, p := range list {
		if slices.Contains(changed, p.seq) {
			m.lineUp(p.key)
		}
	}
	return changed
}

// lineUp puts all deliveries of the finding behind the first, except the deliveries that a node is trying.
func (m *pushModel) lineUp(key string) {
	for i, p := range m.openOf(key) {
		if i > 0 && !p.behind && !p.claimed(m.now) {
			p.behind, p.node, p.until = true, "", time.Time{}
		}
	}
	m.release(key)
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// checkPushes makes random steps in the life of deliveries on the ledger and on the model, and compares the two.
func checkPushes(t *testing.T, f *fixture) {
	t.Helper()
	f.register(t)
	round := 0
	firings := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		m := &pushWalk{f: f, t: t, sink: fmt.Sprintf("sink-%d", round), firings: &firings}
		rt.Repeat(rapid.StateMachineActions(m))
	})
}

// pushWalk is the state machine of rapid; its exported methods are the actions. Each round has a push channel of its
// own.
type pushWalk struct {
	f       *fixture
	t       *testing.T
	sink    string
	firings *int // firings committed in all rounds
	made    int
	first   int64 // number of the round's first delivery
	model   pushModel
	claims  []delivery.PushClaim // all claims so far
}

// Commit adds one or two notices of a finding.
func (w *pushWalk) Commit(t *rapid.T) {
	*w.firings++
	var notices []ledger.NewNotice
	now := w.f.clock.Now()
	for range rapid.IntRange(1, 2).Draw(t, "notices") {
		w.made++
		s := rapid.SampledFrom([]delivery.Strategy{
			{Kind: delivery.Immediate},
			{Kind: delivery.Important},
			{Kind: delivery.Important, Until: delivery.UntilSent},
			{Kind: delivery.Timed, Within: 90 * time.Second},
			{Kind: delivery.Delayed, Delay: time.Minute, Retry: 2, Unless: delivery.UnlessResolved},
		}).Draw(t, "strategy")
		key := rapid.SampledFrom([]string{"k1", "k2"}).Draw(t, "key")
		n := living(fmt.Sprintf("%s_%04d", w.sink, w.made), now)
		n.Key, n.ExpiresAt = w.sink+key, now.Add(time.Duration(rapid.IntRange(30, 300).Draw(t, "seconds"))*time.Second)
		notices = append(notices, to([]ledger.Target{{Sink: w.sink, Strategy: &s}}, n)...)
		w.model.add(&modelPush{
			seq: int64(w.made), key: key, strategy: s, expires: n.ExpiresAt, first: s.First(now), deadline: s.Deadline(now),
		})
	}
	w.f.commit(w.t, *w.firings, notices)
	if w.first == 0 {
		list, err := w.f.ListDeliveries(w.t.Context(), ledger.DeliveryFilter{Sink: w.sink, Limit: 10})
		must(t, err, nil)
		w.first = list[len(list)-1].Seq
	}
}

// Claim claims due deliveries.
func (w *pushWalk) Claim(t *rapid.T) {
	limit := rapid.IntRange(1, 4).Draw(t, "limit")
	node := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "node")
	got, err := w.f.ClaimPushes(w.t.Context(), w.sink, node, lease, limit)
	must(t, err, nil)
	want := w.model.claim(node, limit, lease)
	if len(got.List) != len(want) {
		t.Fatalf("%d were claimed, want %d", len(got.List), len(want))
	}
	for i, p := range want {
		c := &got.List[i]
		if w.number(c.Seq) != p.seq || c.Token != p.token || c.Attempts != p.attempts-p.forgiven || c.Ever != p.attempts || !c.Deadline.Equal(p.deadline) {
			t.Fatalf("claim %d is %+v, want %+v", i, c, p)
		}
	}
	w.claims = append(w.claims, got.List...)
}

// Settle settles some claims, including old ones.
func (w *pushWalk) Settle(t *rapid.T) {
	if len(w.claims) == 0 {
		t.Skip("nothing was claimed")
	}
	c := rapid.SampledFrom(w.claims).Draw(t, "claim")
	kind := rapid.SampledFrom([]delivery.SettleKind{
		delivery.SettleSent, delivery.SettleFailed, delivery.SettleAgain, delivery.SettleAgain, delivery.SettleRelease,
	}).Draw(t, "kind")
	after := time.Duration(rapid.IntRange(0, 60).Draw(t, "after")) * time.Second
	must(t, w.f.SettlePushes(w.t.Context(), settled([]delivery.PushClaim{c}, kind, after)), nil)
	w.model.settle(w.model.pushes[w.number(c.Seq)-1], c.Token, kind, after)
}

// End ends deliveries that are over.
func (w *pushWalk) End(t *rapid.T) {
	late, expired, err := w.f.EndPushes(w.t.Context(), w.sink, 1000)
	must(t, err, nil)
	wantLate, wantExpired := w.model.endOver()
	if late != wantLate || expired != wantExpired {
		t.Fatalf("%d timed out and %d expired, want %d and %d", late, expired, wantLate, wantExpired)
	}
}

// Cancel cancels deliveries as an operator.
func (w *pushWalk) Cancel(t *rapid.T) {
	seqs, list := w.draw(t)
	changed, err := w.f.CancelDeliveries(w.t.Context(), Ann, seqs, "no")
	must(t, err, nil)
	w.isChanged(t, w.model.cancel(list, "no"), changed)
}

// Retry retries deliveries as an operator.
func (w *pushWalk) Retry(t *rapid.T) {
	seqs, list := w.draw(t)
	changed, _, err := w.f.RetryDeliveries(w.t.Context(), Ann, seqs)
	must(t, err, nil)
	w.isChanged(t, w.model.retry(list), changed)
}

// Wait lets time pass.
func (w *pushWalk) Wait(t *rapid.T) {
	w.f.clock.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "seconds")) * time.Second)
}

// Check compares the states.
func (w *pushWalk) Check(t *rapid.T) {
	w.model.now = w.f.clock.Now()
	list, err := w.f.ListDeliveries(w.t.Context(), ledger.DeliveryFilter{Sink: w.sink, Limit: 1000})
	must(t, err, nil)
	if len(list) != len(w.model.pushes) {
		t.Fatalf("%d deliveries, want %d", len(list), len(w.model.pushes))
	}
	slices.Reverse(list)
	for i := range list {
		p := w.model.pushes[i]
		want := ledger.DeliveryRecord{
			Strategy: &p.strategy, Deadline: p.deadline, Behind: p.open() && p.behind,
			DeliveryTrace: ledger.DeliveryTrace{State: p.state, Attempts: p.attempts, LastError: p.lastError},
		}
		if p.open() && !p.behind {
			want.Next = p.due
		}
		if p.claimed(w.model.now) {
			want.Node, want.Next = p.node, p.until
		}
		if want.Behind {
			want.InFront = w.first + w.model.first(p.key) - 1
		}
		got := list[i]
		got.DeliveryTrace = ledger.DeliveryTrace{State: got.State, Attempts: got.Attempts, LastError: got.LastError}
		ignored := cmpopts.IgnoreFields(ledger.DeliveryRecord{}, "Notice", "Type", "Rule", "Status", "Where", "Title", "Created", "Expires")
		if diff := gocmp.Diff(want, got, ignored); diff != "" {
			t.Fatalf("delivery %d is not as wanted (-want +got):\n%s", i+1, diff)
		}
	}
}

// draw chooses some of the deliveries.
func (w *pushWalk) draw(t *rapid.T) ([]int64, []*modelPush) {
	if w.made == 0 {
		t.Skip("there is none")
	}
	numbers := rapid.SliceOfNDistinct(rapid.IntRange(1, w.made), 1, min(3, w.made), rapid.ID).Draw(t, "deliveries")
	slices.Sort(numbers)
	seqs := make([]int64, len(numbers))
	list := make([]*modelPush, len(numbers))
	for i, n := range numbers {
		seqs[i], list[i] = w.first+int64(n)-1, w.model.pushes[n-1]
	}
	return seqs, list
}

func (w *pushWalk) isChanged(t *rapid.T, want, got []int64) {
	t.Helper()
	for i := range got {
		got[i] = w.number(got[i])
	}
	if !slices.Equal(want, got) {
		t.Fatalf("%v changed, want %v", got, want)
	}
}

// number returns the position of a delivery in the round, from 1.
func (w *pushWalk) number(seq int64) int64 { return seq - w.first + 1 }
