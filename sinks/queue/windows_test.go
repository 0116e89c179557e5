package queue

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/testenv"
)

func keyed(id, key string, created time.Time) item.New {
	return item.New{ID: id, Priority: 3, Payload: []byte("{}"), DedupeKey: key, Created: created}
}

// push pushes one item, and returns its outcome and who holds its key.
func (n *node) push(t testing.TB, i item.New) string {
	t.Helper()
	r, err := n.Push(t.Context(), false, "tester", []item.New{i})
	if err != nil {
		t.Fatal(err)
	}
	return string(r[0].Outcome) + " " + r[0].Of
}

func (n *node) expectPush(t testing.TB, i item.New, want string) {
	t.Helper()
	if got := n.push(t, i); got != want {
		t.Errorf("%s is %q, want %q", i.ID, got, want)
	}
}

// Peers take the lock of a unique task before they look whether its id exists, and leak the lock when it does.
func TestAnIDThatExistsTakesNoDedupeKey(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		for _, ledger := range []Ledger{nil, newMemoryLedger()} {
			n := newNode(t, t.addr, ledger, fresh)
			now := time.Now()
			n.expectPush(t, keyed("i1", "", now), "pushed ")
			n.expectPush(t, keyed("i1", "bin", now), "exists ")
			n.expectPush(t, keyed("i2", "bin", now), "pushed ")
			n.expectPush(t, keyed("i3", "bin", now), "duplicate i2")
			n.stop()
		}
	})
}

// TestKeysOfContent tests the daily buffer. Equal content at the same priority is one item, whatever the order of its
// members. A given dedupe key replaces the content.
func TestKeysOfContent(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger(), func(o *Options) { o.Dedupe = Window{Day: true, Content: true} })
		now := time.Now()
		of := func(id, payload string, priority int, key string) item.New {
			return item.New{ID: id, Priority: priority, Payload: []byte(payload), DedupeKey: key, Created: now}
		}
		n.expectPush(t, of("i1", `{"a":1,"b":[1,2]}`, 3, ""), "pushed ")
		n.expectPush(t, of("i2", `{ "b": [1, 2], "a": 1 }`, 3, ""), "duplicate i1")
		n.expectPush(t, of("i3", `{"a":1,"b":[1,2]}`, 4, ""), "pushed ")
		n.expectPush(t, of("i4", `{"a":1,"b":[2,1]}`, 3, ""), "pushed ")
		n.expectPush(t, of("i5", `{"a":1,"b":[1,2]}`, 3, "own"), "pushed ")
		n.expectPush(t, of("i6", `{"n":9007199254740992}`, 3, ""), "pushed ")
		n.expectPush(t, of("i7", `{"n":9007199254740993}`, 3, ""), "pushed ")
		next := of("i8", `{"a":1,"b":[1,2]}`, 3, "")
		next.Created = now.Add(24 * time.Hour)
		n.expectPush(t, next, "pushed ")
	})
}

// TestItemsAreFoundByTheirKey in any state, with who works on them.
func TestItemsAreFoundByTheirKey(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger())
		now := time.Now()
		n.expectPush(t, keyed("i1", "order 7", now), "pushed ")
		lease := n.mustLease(t, "w", 1)[0]
		n.mustStep(t, item.Step{Caller: item.Caller{Worker: "w"}, Ops: []item.Op{{Kind: item.Ack, ID: "i1", Attempt: lease.Attempt}}})
		n.expectPush(t, keyed("i2", "order 7", now), "pushed ")
		n.expectPush(t, keyed("i3", "order 7", now), "duplicate i2")
		n.mustLease(t, "w", 1)
		var got []string
		for after := ""; ; {
			page, err := n.List(t.Context(), item.Query{Key: "order 7", Limit: 2, After: after})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range page.Items {
				got = append(got, i.ID+" "+string(i.State)+" "+i.Worker)
			}
			if after = page.Cursor; after == "" {
				break
			}
		}
		if want := []string{"i3 refused ", "i2 leased w", "i1 done "}; !slices.Equal(got, want) {
			t.Errorf("found %q, want %q", got, want)
		}
		if page, err := n.List(t.Context(), item.Query{Key: "order 7", Limit: 2, Scope: item.Scope{"elsewhere"}}); err != nil || len(page.Items) > 0 {
			t.Errorf("another warehouse finds %v, %v", page.Items, err)
		}
	})
}

func TestUntilDone(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		ledger := newMemoryLedger()
		n := newNode(t, t.addr, ledger, func(o *Options) { o.MaxAttempts = 1 })
		now := time.Now()
		n.expectPush(t, keyed("acked", "a", now), "pushed ")
		n.expectPush(t, keyed("i2", "a", now), "duplicate acked")
		if got := ledger.state("i2"); got != item.Refused {
			t.Errorf("the ledger has the duplicate as %s", got)
		}
		n.expectPush(t, keyed("i2", "a", now), "exists ")
		n.mustDo(t, item.Op{Kind: item.Ack, ID: "acked", Attempt: n.mustLease(t, "w", 1)[0].Attempt}, item.OK)
		n.expectPush(t, keyed("removed", "a", now), "pushed ")
		n.mustDo(t, item.Op{Kind: item.Remove, ID: "removed"}, item.OK)
		n.expectPush(t, keyed("dead", "a", now), "pushed ")
		n.mustDo(t, item.Op{Kind: item.Nack, ID: "dead", Attempt: n.mustLease(t, "w", 1)[0].Attempt}, item.OK)
		n.expectPush(t, keyed("i5", "a", now), "duplicate dead")
		n.mustDo(t, item.Op{Kind: item.Requeue, ID: "dead"}, item.OK)
		n.mustDo(t, item.Op{Kind: item.Finish, ID: "dead"}, item.OK)
		n.expectPush(t, keyed("i6", "a", now), "pushed ")
	})
}

func TestADurationHoldsTheKeyWhateverBecomesOfTheItem(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		clock := newTestClock(time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC))
		n := newNode(t, t.addr, newMemoryLedger(), clock.option, func(o *Options) { o.Dedupe = Window{For: time.Hour} })
		begin := clock.now()
		n.expectPush(t, keyed("i1", "a", begin), "pushed ")
		n.mustDo(t, item.Op{Kind: item.Finish, ID: "i1"}, item.OK)
		n.expectPush(t, keyed("i2", "a", begin.Add(time.Hour-time.Microsecond)), "duplicate i1")
		clock.advance(2 * time.Hour)
		n.expectPush(t, keyed("late", "a", begin.Add(time.Hour-time.Microsecond)), "duplicate i1")
		n.expectPush(t, keyed("i3", "a", begin.Add(time.Hour)), "pushed ")
		n.expectPush(t, keyed("i4", "a", begin.Add(2*time.Hour-time.Microsecond)), "duplicate i3")
		n.mustDo(t, item.Op{Kind: item.Remove, ID: "i3"}, item.OK)
		n.expectPush(t, keyed("i5", "a", begin.Add(90*time.Minute)), "pushed ")

		clock.advance(48 * time.Hour)
		n.expectPush(t, keyed("other", "b", clock.now()), "pushed ")
		if held, err := n.client.HLen(t.Context(), n.lines[0].keys.dedupe()).Result(); err != nil || held != 1 {
			t.Errorf("%d entries are kept, %v", held, err)
		}
	})
}

// Peers buffer what comes around midnight, or lose it. Eight producers push the same keys in the last and the first
// milliseconds of a day, out of order, through two nodes: each day has each key once, and each accepted item is there.
func TestMidnight(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		const keys = 50
		shanghai := zone(t, "Asia/Shanghai")
		midnight := time.Date(2026, 6, 2, 0, 0, 0, 0, shanghai)
		clock := newTestClock(midnight.Add(time.Second))
		ledger := newMemoryLedger()
		day := func(o *Options) { o.Dedupe, o.Timezone = Window{Day: true}, shanghai }
		nodes := []*node{newNode(t, t.addr, ledger, clock.option, day), newNode(t, t.addr, ledger, clock.option, day)}
		var accepted [2][keys]atomic.Int64
		var wg sync.WaitGroup
		for producer := range 8 {
			wg.Go(func() {
				for i := range 2 * keys {
					day, key := i%2, (i/2*7+producer)%keys
					created := midnight.Add(-time.Microsecond - time.Duration(producer)*100*time.Microsecond)
					if day == 1 {
						created = midnight.Add(time.Duration(producer) * 100 * time.Microsecond)
					}
					id := fmt.Sprintf("p%d.%d", producer, i)
					r, err := nodes[producer%2].Push(t.Context(), false, "tester", []item.New{keyed(id, fmt.Sprint(key), created)})
					if err != nil {
						t.Error(err)
						return
					}
					if r[0].Outcome == item.Pushed {
						accepted[day][key].Add(1)
					}
				}
			})
		}
		wg.Wait()
		for day := range accepted {
			for key := range accepted[day] {
				if got := accepted[day][key].Load(); got != 1 {
					t.Errorf("day %d, key %d: %d were accepted", day, key, got)
				}
			}
		}
		if got := len(nodes[0].mustLease(t, "w", item.MaxBatch)); got != 2*keys {
			t.Errorf("%d items are there, want %d", got, 2*keys)
		}
	})
}

func TestDaysOfOtherLengths(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	clock := newTestClock(time.Now())
	n := newNode(t, testenv.Redis(t).Addr, newMemoryLedger(), clock.option,
		func(o *Options) { o.Dedupe, o.Timezone = Window{Day: true}, berlin })
	for name, day := range map[string]struct {
		begin time.Time
		hours int
	}{
		"spring": {time.Date(2026, 3, 29, 0, 0, 0, 0, berlin), 23},
		"summer": {time.Date(2026, 6, 1, 0, 0, 0, 0, berlin), 24},
		"autumn": {time.Date(2026, 10, 25, 0, 0, 0, 0, berlin), 25},
	} {
		end := day.begin.Add(time.Duration(day.hours) * time.Hour)
		first, until := Window{Day: true}.bucket("", "a", day.begin, berlin)
		last, _ := Window{Day: true}.bucket("", "a", end.Add(-time.Microsecond), berlin)
		next, _ := Window{Day: true}.bucket("", "a", end, berlin)
		if first != last || last == next || !until.Equal(end) {
			t.Errorf("%s: %s … %s until %s, then %s", name, first, last, until, next)
		}
		clock.micros.Store(end.UnixMicro())
		n.expectPush(t, keyed(name+"1", name, day.begin), "pushed ")
		n.mustDo(t, item.Op{Kind: item.Finish, ID: name + "1"}, item.OK)
		n.expectPush(t, keyed(name+"2", name, end.Add(-time.Microsecond)), "duplicate "+name+"1")
		n.expectPush(t, keyed(name+"3", name, end), "pushed ")
		n.expectPush(t, keyed(name+"4", name, day.begin.Add(-time.Microsecond)), "pushed ")
	}
}

// fresh gives a node a place of its own on the server.
func fresh(o *Options) { o.Prefix = o.Node + ":" }

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}
