package ledgertest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

const oneDay = 24 * time.Hour

// retained is a notice with the facts that decide whether the notice stays in the ledger.
type retained struct {
	*notice.Notice
	open       bool // a finding names the notice
	waits      bool // a delivery is tried until it succeeds
	deliveries int
}

// mustStay returns whether pruning must not remove the notice.
func (r *retained) mustStay(now, before time.Time) bool {
	return r.open || r.waits || r.ExpiresAt.After(now) || !r.CreatedAt.Before(before)
}

// retention is a ledger in which time passes. Episodes begin and go on, notices live for an hour to 50 days, and the
// push channel fails.
type retention struct {
	f      *fixture
	random *rand.Rand
	run    int
	made   []*retained
}

var retentionTests = []testCase{
	{"retention keeps what must stay, with all that belongs to it, and hardly anything else", func(t *testing.T, f *fixture) {
		seed := rand.Uint64() //nolint:gosec // not a secret
		t.Logf("seed %d", seed)
		f.subscribed(t)
		m := &retention{f: f, random: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // not a secret
		for range 40 {
			f.clock.Add(time.Duration(1+m.random.IntN(40)) * time.Hour)
			if m.random.IntN(10) == 0 { // a pause in which nothing happens
				f.clock.Add(12 * oneDay)
			}
			m.commit(t)
			m.deliver(t)
			if m.random.IntN(2) == 0 {
				m.prune(t)
			}
		}
		m.prune(t)
	}},
}

// one returns a random entry of the list.
func one[T any](m *retention, list ...T) T { return list[m.random.IntN(len(list))] }

// commit makes some notices, of episodes that began now or days ago, and ends some findings.
func (m *retention) commit(t *testing.T) {
	t.Helper()
	m.run++
	now := m.f.clock.Now()
	var notices []ledger.NewNotice
	var changes []ledger.FindingChange
	for _, r := range m.made {
		if r.open && m.random.IntN(6) == 0 {
			r.open = false
			changes = append(changes, ledger.FindingChange{Op: ledger.Delete, State: stateOf(r)})
		}
	}
	for i := range 1 + m.random.IntN(5) {
		n := newNotice("")
		n.Key = fmt.Sprintf(`[%d,%d]`, m.run, i)
		n.Episode = one(m, "", "", "", `["watermark"]`)
		if n.Episode == "" {
			n.Episode = notice.EpisodeAt(0, now.Add(-one(m, 0, 0, 0, oneDay, 9*oneDay)))
		}
		n.ID = notice.ID(n.Rule, n.Scope, n.Key, n.Episode, n.Status, 0)
		n.CreatedAt, n.ExpiresAt = now, now.Add(one(m, time.Hour, 2*oneDay, 6*oneDay, 50*oneDay))
		r := &retained{Notice: n, open: m.random.IntN(4) == 0}
		if r.open {
			changes = append(changes, ledger.FindingChange{Op: ledger.Insert, State: stateOf(r)})
		}
		targets := one(m, nil, []ledger.Target{inbox}, []ledger.Target{inbox, important}, []ledger.Target{untilSent})
		r.deliveries, r.waits = len(targets), len(targets) == 1 && targets[0].Strategy != nil
		notices = append(notices, to(targets, n)...)
		m.made = append(m.made, r)
	}
	m.f.commit(t, m.run, notices, changes...)
}

func stateOf(r *retained) finding.State {
	st := firing(r.Key)
	st.NoticeID = r.ID
	return st
}

// deliver sends to the inbox, where a user reads one notice, and settles the claims of the push channel.
func (m *retention) deliver(t *testing.T) {
	t.Helper()
	f := m.f
	list := f.pending(t, inboxLane)
	if len(list) > 0 && m.random.IntN(3) > 0 {
		f.send(t, list, "", f.clock.Now().UnixMicro())
		noError(t, f.Mark(t.Context(), ledger.Mark{
			Notice: list[0].Notice.ID, Warehouse: warehouse, User: "user:1", As: []string{"user:1"}, Kind: ledger.MarkRead, At: f.clock.Now(),
		}))
	}
	for _, c := range m.f.claimPushes(t, "a", 100).List {
		kind := delivery.SettleAgain // usually the channel fails
		if m.random.IntN(8) == 0 {
			kind = one(m, delivery.SettleSent, delivery.SettleFailed)
		}
		m.f.settle(t, []delivery.PushClaim{c}, kind, time.Hour)
		for _, r := range m.made {
			if r.ID == c.Notice.ID && kind != delivery.SettleAgain {
				r.waits = false
			}
		}
	}
}

// prune prunes, and checks each notice.
func (m *retention) prune(t *testing.T) {
	t.Helper()
	f := m.f
	now := f.clock.Now()
	before := now.Add(-20 * oneDay)
	_, err := f.Prune(t.Context(), before, 5)
	noError(t, err)
	left := m.made[:0]
	for _, r := range m.made {
		found, err := f.Notices(t.Context(), []string{r.ID})
		noError(t, err)
		deliveries, err := f.ListDeliveries(t.Context(), ledger.DeliveryFilter{Notice: r.ID, Limit: 9})
		noError(t, err)
		marks, err := f.MarksOf(t.Context(), r.ID)
		noError(t, err)
		stays := found[r.ID] != nil
		switch mayStay := r.CreatedAt.After(before.Add(-4*oneDay)) || r.ExpiresAt.After(now.Add(-oneDay)); {
		case !stays && r.mustStay(now, before):
			t.Fatalf("%s of %s until %s is gone at %s (open %v, waits %v)", r.ID, r.CreatedAt, r.ExpiresAt, now, r.open, r.waits)
		case stays && !r.mustStay(now, before) && !mayStay:
			t.Fatalf("%s of %s until %s is still there at %s", r.ID, r.CreatedAt, r.ExpiresAt, now)
		case stays && len(deliveries) != r.deliveries:
			t.Fatalf("%s has %d deliveries of %d", r.ID, len(deliveries), r.deliveries)
		case !stays && len(marks)+len(deliveries) > 0:
			t.Fatalf("%s is gone, and has %d deliveries and %d marks", r.ID, len(deliveries), len(marks))
		}
		if stays {
			left = append(left, r)
		}
	}
	m.made = left
}
