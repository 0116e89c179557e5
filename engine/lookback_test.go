package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/engine/judge"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// numbered is replenish with a watermark on the id alone, which looks back for 5 minutes by default.
func numbered() *rules.Rule {
	r := replenish()
	r.Schedule.Cron = "* * * * *"
	r.Probe.SQL = "SELECT id, bin_code, shortage, changed_at FROM replenishment_need WHERE id > :wm_id ORDER BY id"
	r.Probe.Watermark = &rules.Watermark{Columns: []string{"id"}, Initial: map[string]any{"id": int64(0)}}
	return r
}

// numbers answers the probe of numbered. It is sorted.
type numbers struct {
	mu    sync.Mutex
	ids   []int64
	scans []int64 // where each began
	after func(scan int)
}

func (n *numbers) commit(ids ...int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ids = append(n.ids, ids...)
	slices.Sort(n.ids)
}

func (n *numbers) scan(_ context.Context, req scanners.Request) ([][]row.Value, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	mark, _ := req.Args["wm_id"].(row.Value)
	n.scans = append(n.scans, mark.Int())
	at, _ := slices.BinarySearch(n.ids, mark.Int()+1)
	rows := make([][]row.Value, 0, len(n.ids)-at)
	for _, id := range n.ids[at:] {
		rows = append(rows, need{id, "A", id % 2, midnight}.values())
	}
	if n.after != nil {
		n.after(len(n.scans))
	}
	return rows, nil
}

// whenScanned calls f at the end of each scan from now on.
func (n *numbers) whenScanned(f func(scan int)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.after = f
}

func (n *numbers) last() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.scans[len(n.scans)-1]
}

func inNumberedWorld(t *testing.T, test func(w *world, n *numbers)) {
	t.Helper()
	inWorld(t, func(w *world) {
		n := &numbers{}
		w.rules = []*rules.Rule{numbered()}
		w.source.Columns, w.source.Rows = needColumns, n.scan
		test(w, n)
	})
}

// keys returns the keys of all notices, in order.
func (w *world) keys() string {
	var list []string
	for _, n := range w.notices() {
		list = append(list, n.Key)
	}
	return strings.Join(list, " ")
}

func TestRowThatCommitsLateIsTold(t *testing.T) {
	for back, want := range map[string]string{"the default": "[3003] [3001]", "none": "[3003]"} {
		t.Run(back, func(t *testing.T) {
			inNumberedWorld(t, func(w *world, n *numbers) {
				if back == "none" {
					w.rules[0].Probe.Watermark.LookBack = &rules.LookBack{}
				}
				n.commit(3002, 3003)
				w.start(w.options("a"))
				pass(m + 10*time.Second)
				n.commit(3001)
				pass(10 * m)
				if got := w.keys(); got != want {
					t.Errorf("told %s", got)
				}
				if got := n.last(); got != 3003 {
					t.Errorf("the last scan began at %d", got)
				}
			})
		})
	}
}

// TestPagesRememberWithoutTheLedger: a firing reads the memory of look_back from the ledger once, however many passes
// it has.
func TestPagesRememberWithoutTheLedger(t *testing.T) {
	inNumberedWorld(t, func(w *world, n *numbers) {
		w.rules[0].Probe.MaxRows = 3
		n.commit(1, 3, 5, 7, 9, 11, 13)
		counted := &countedLookBacks{}
		w.start(counted.in(w.options("a")))
		pass(m + 10*time.Second)
		n.commit(2, 4, 6, 8, 10, 12, 14, 15)
		pass(m)
		if got, want := w.keys(), "[1] [3] [5] [7] [9] [11] [13] [15]"; got != want {
			t.Errorf("told %s", got)
		}
		if got := counted.calls.Load(); got != 2 {
			t.Errorf("the ledger was asked %d times in 2 firings", got)
		}
	})
}

// countedLookBacks counts the reads of the memory of look_back.
type countedLookBacks struct {
	engine.Ledger
	calls atomic.Int32
}

func (c *countedLookBacks) in(o engine.Options) engine.Options {
	c.Ledger, o.Ledger = o.Ledger, c
	return o
}

func (c *countedLookBacks) LookBack(ctx context.Context, rule, scope string) (ledger.LookBack, error) {
	c.calls.Add(1)
	return c.Ledger.LookBack(ctx, rule, scope)
}

// TestRowIsReadAgainAsLongAsItsTransactionMayLast checks where scans begin, and which rows come too late.
func TestRowIsReadAgainAsLongAsItsTransactionMayLast(t *testing.T) {
	inNumberedWorld(t, func(w *world, n *numbers) {
		n.commit(11)
		w.start(w.options("a"))
		pass(m + 10*time.Second) // 0:01
		n.commit(21)
		pass(4 * m) // to 0:05: 11 may still have company
		n.commit(9)
		pass(m) // 0:06 sees it, and is the last that looks
		if n.last() != 0 {
			t.Fatalf("the scan began at %d", n.last())
		}
		n.commit(7, 19) // 7 comes more than 5 minutes after 11, and 19 less than that after 21
		pass(m)         // 0:07
		if n.last() != 11 {
			t.Fatalf("the scan began at %d", n.last())
		}
		if got := w.keys(); got != "[11] [21] [9] [19]" {
			t.Errorf("told %s", got)
		}
		for _, run := range w.ledger.Runs() {
			if run.Rows > 1 {
				t.Errorf("a run counts rows that it has not judged: %+v", run)
			}
		}
	})
}

// TestAnotherNodeGoesOnBehindWhatWasSeen loses a node between two passes of a firing, and between the digests of the
// passes.
func TestAnotherNodeGoesOnBehindWhatWasSeen(t *testing.T) {
	for _, limit := range []int{0, 1} {
		t.Run(fmt.Sprint("limit ", limit), func(t *testing.T) {
			inNumberedWorld(t, func(w *world, n *numbers) {
				w.rules[0].Probe.MaxRows, w.rules[0].Limit.Notices = 10, limit
				for id := range int64(35) {
					n.commit(2*id + 1)
				}
				n.after = func(scan int) {
					if scan == 3 {
						w.ledger.Steal("replenish-pick-face", "119240", "dead", 10*time.Second)
					}
				}
				w.start(w.options("a"))
				pass(m + 30*time.Second)
				told := 0
				for _, made := range w.notices() {
					told += made.Count
				}
				if told != 35 {
					t.Errorf("%d told: %s", told, w.keys())
				}
			})
		})
	}
}

func TestAnotherKeyTellsNothingAgain(t *testing.T) {
	inNumberedWorld(t, func(w *world, n *numbers) {
		n.commit(1, 3)
		first := w.start(w.options("a"))
		pass(2*m + 10*time.Second)
		first.stop()
		w.rules[0].Key = []string{"bin_code", "id"}
		w.start(w.options("a"))
		n.commit(5)
		pass(2 * m)
		if got := w.keys(); got != `[1] [3] ["A",5]` {
			t.Errorf("told %s", got)
		}
	})
}

func TestLookBackThatIsTakenOutForgets(t *testing.T) {
	inNumberedWorld(t, func(w *world, n *numbers) {
		n.commit(1, 3)
		first := w.start(w.options("a"))
		pass(m + 10*time.Second)
		first.stop()
		memory := func() ledger.LookBack {
			back, err := w.ledger.LookBack(t.Context(), "replenish-pick-face", "119240")
			if err != nil {
				t.Fatal(err)
			}
			return back
		}
		if back := memory(); back.Rows() != 2 {
			t.Errorf("%d rows are remembered", back.Rows())
		}
		w.rules[0].Probe.Watermark.LookBack = &rules.LookBack{}
		w.start(w.options("a"))
		pass(m)
		if back := memory(); back.From != nil || back.Seen != nil {
			t.Errorf("still there: %+v", back)
		}
	})
}

// TestWindowBeyondItsBoundFails: a backlog may have any size. Later the window may not have more rows than the memory.
// The waiting rows get notices when there is room.
func TestWindowBeyondItsBoundFails(t *testing.T) {
	inNumberedWorld(t, func(w *world, n *numbers) {
		w.rules[0].Probe.MaxRows, w.rules[0].When = 1_000_000, "id % 50000 == 1"
		many := func(from, to int64) {
			ids := make([]int64, 0, to-from)
			for id := from; id < to; id++ {
				ids = append(ids, id)
			}
			n.commit(ids...)
		}
		many(0, 150_003) // tells of 1, 50001, 100001, 150001
		w.start(w.options("a"))
		pass(m + 10*time.Second)
		w.wantDues("1 ok")
		many(150_003, 240_000) // 200001; the backlog goes, as far as there is need of room
		pass(m)
		w.wantDues("1 ok", "2 ok")
		many(240_000, 250_100) // 250001
		pass(m)
		runs := w.ledger.Runs()
		holdError(t, "look_back_full", runs[2].Error)
		if got := strings.Count(w.keys(), "["); got != 5 {
			t.Errorf("told %s", w.keys())
		}
		pass(5 * m)
		if got := w.keys(); got != "[1] [50001] [100001] [150001] [200001] [250001]" {
			t.Errorf("told %s", got)
		}
		back, err := w.ledger.LookBack(t.Context(), "replenish-pick-face", "119240")
		if err != nil || back.Rows() > judge.MostSeen {
			t.Errorf("%d rows are remembered: %v", back.Rows(), err)
		}
	})
}

// TestRowIsJudgedOnce: a row that did not meet the condition is not judged again, even after the condition has changed.
func TestRowIsJudgedOnce(t *testing.T) {
	inNumberedWorld(t, func(w *world, n *numbers) {
		n.commit(1)
		w.rules[0].When = "shortage > 1" // no row matches
		first := w.start(w.options("a"))
		pass(m + 10*time.Second)
		first.stop()
		w.rules[0].When = "shortage > 0"
		w.start(w.options("a"))
		pass(m)
		if got := w.keys(); got != "" {
			t.Errorf("a row that was judged is judged again: %s", got)
		}
	})
}
