package ledgertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

// searchTimeout bounds how long nodes look for forgotten deliveries.
const searchTimeout = 30 * time.Second

var pushRaceTests = []testCase{
	{"claims of many nodes never overlap, and nothing is left out", func(t *testing.T, f *fixture) {
		const deliveries = 200
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, numbered("n_", deliveries)...))
		var mu sync.Mutex
		claimed := map[int64]int{}
		f.onNodes(t, func(ctx context.Context, l ledger.Ledger, node string) error {
			ctx, cancel := context.WithTimeout(ctx, searchTimeout)
			defer cancel()
			for {
				got, err := l.ClaimPushes(ctx, gateway, node, lease, 7)
				if err != nil {
					return err
				}
				mu.Lock()
				for _, c := range got.List {
					claimed[c.Seq]++
				}
				all := len(claimed) == deliveries
				mu.Unlock()
				if all {
					return nil
				}
				if err := l.SettlePushes(ctx, settled(got.List, delivery.SettleSent, 0)); err != nil {
					return err
				}
			}
		})
		for seq, times := range claimed {
			if times != 1 {
				t.Fatalf("delivery %d was claimed %d times", seq, times)
			}
		}
	}},
	{"while commits add notices of findings, deliveries are claimed in order, one at a time, and none is forgotten", func(t *testing.T, f *fixture) {
		const commits, findings = 20, 3
		f.register(t)
		w := &watcher{inFlight: map[string]string{}, last: map[string]string{}}
		f.onNodes(t, func(ctx context.Context, l ledger.Ledger, node string) error {
			if node == "node0" {
				return f.addTo(ctx, l, commits, findings)
			}
			ctx, cancel := context.WithTimeout(ctx, searchTimeout)
			defer cancel()
			for w.count() < commits*findings {
				if err := w.work(ctx, l, node); err != nil {
					return err
				}
			}
			return nil
		})
		equal(t, 0, len(w.wrong))
	}},
	{"whatever nodes and operators do at once, everything ends", func(t *testing.T, f *fixture) {
		const commits, findings = 12, 3
		f.register(t)
		f.onNodes(t, func(ctx context.Context, l ledger.Ledger, node string) error {
			if node == "node0" {
				return f.addTo(ctx, l, commits, findings)
			}
			random := rand.New(rand.NewPCG(uint64(len(node)), uint64(node[len(node)-1]))) //nolint:gosec // not a secret
			for range 40 {
				if err := disturb(ctx, l, node, random, commits*findings); err != nil {
					return err
				}
			}
			return nil
		})
		f.clock.Add(lease)
		for range commits {
			f.settle(t, f.claimPushes(t, "a", 1000).List, delivery.SettleSent, 0)
		}
		list, err := f.ListDeliveries(t.Context(), ledger.DeliveryFilter{
			Sink: gateway, States: []ledger.DeliveryState{ledger.DeliveryPending}, Limit: 1000,
		})
		noError(t, err)
		equal(t, 0, len(list))
	}},
}

// addTo commits one notice of each finding, many times.
func (f *pushChecks) addTo(ctx context.Context, l ledger.Ledger, commits, findings int) error {
	for n := 1; n <= commits; n++ {
		c, err := l.Claim(ctx, rule, scope, 0, due(n), "a", lease)
		if err != nil {
			return err
		}
		var made []*notice.Notice
		for k := range findings {
			one := newNotice(fmt.Sprintf("k%d_%03d", k, n))
			one.Key = fmt.Sprintf(`["k%d"]`, k)
			made = append(made, one)
		}
		run := commitOf(c)
		run.Notices = to([]ledger.Target{important}, made...)
		if _, err := l.Commit(ctx, c, run); err != nil {
			return err
		}
	}
	return nil
}

// watcher checks that the deliveries of a finding are sent in order and one at a time.
type watcher struct {
	mu       sync.Mutex
	inFlight map[string]string
	last     map[string]string
	sent     int
	wrong    []string
}

func (w *watcher) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

// work claims deliveries and settles them. The first attempt of every third delivery fails.
func (w *watcher) work(ctx context.Context, l ledger.Ledger, node string) error {
	got, err := l.ClaimPushes(ctx, gateway, node, lease, 2)
	if err != nil {
		return err
	}
	var ends []delivery.Settlement
	for i, c := range got.List {
		id := c.Notice.ID
		finding, _, _ := strings.Cut(id, "_")
		kind := delivery.SettleSent
		if c.Attempts == 0 && c.Seq%3 == 0 {
			kind = delivery.SettleAgain
		}
		w.began(finding, id, kind == delivery.SettleSent)
		ends = append(ends, settled(got.List[i:i+1], kind, 0)...)
	}
	w.ended(got.List)
	return l.SettlePushes(ctx, ends)
}

func (w *watcher) began(finding, id string, sends bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if other := w.inFlight[finding]; other != "" {
		w.wrong = append(w.wrong, id+" while "+other)
	}
	if id <= w.last[finding] {
		w.wrong = append(w.wrong, id+" after "+w.last[finding])
	}
	w.inFlight[finding] = id
	if sends {
		w.last[finding] = id
		w.sent++
	}
}

func (w *watcher) ended(list []delivery.PushClaim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range list {
		finding, _, _ := strings.Cut(c.Notice.ID, "_")
		w.inFlight[finding] = ""
	}
}

// disturb does one random thing that a node or an operator may do.
func disturb(ctx context.Context, l ledger.Ledger, node string, random *rand.Rand, most int) error {
	seqs := []int64{1 + random.Int64N(int64(most)), 1 + random.Int64N(int64(most)), 1 + random.Int64N(int64(most))}
	switch random.IntN(5) {
	case 0:
		_, err := l.CancelDeliveries(ctx, Ann, seqs, "no")
		return err
	case 1:
		_, _, err := l.RetryDeliveries(ctx, Ann, seqs)
		return err
	case 2:
		_, _, err := l.EndPushes(ctx, gateway, 10)
		return err
	default:
		got, err := l.ClaimPushes(ctx, gateway, node, lease, 3)
		if err != nil {
			return err
		}
		kinds := []delivery.SettleKind{delivery.SettleSent, delivery.SettleFailed, delivery.SettleAgain, delivery.SettleRelease}
		return l.SettlePushes(ctx, settled(got.List, kinds[random.IntN(len(kinds))], time.Duration(random.IntN(3))*time.Millisecond))
	}
}
