package inbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/testenv"
	"tallyman/sinks/recovery"
	"tallyman/sinks/sinktest"
)

func TestCapKeepsTheNewest(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger(), capOf(5))
		shared := makeDeliveries(4, wh, "role:k", "user:1")
		mine := makeDeliveries(3, wh, "user:1")
		n.deliver(t, shared)
		start := n.poll(t, query("user:1"))
		n.deliver(t, mine)

		if diff := cmp.Diff(idsOf(slices.Concat(shared[2:], mine)), ids(n.poll(t, query("user:1")))); diff != "" {
			t.Errorf("user:1: -want +got\n%s", diff)
		}
		if diff := cmp.Diff(idsOf(shared), ids(n.poll(t, query("role:k")))); diff != "" {
			t.Errorf("role:k: -want +got\n%s", diff)
		}
		// The cursor has seen the removed notice, so reading continues without a reset.
		if pg := n.poll(t, after(query("user:1"), start.Cursor)); pg.Reset || len(pg.Notices) != 3 {
			t.Errorf("%+v", pg)
		}
		// A body stays while one inbox holds it, and goes with the last.
		if got := n.bodies(t); len(got) != 7 {
			t.Errorf("%d bodies", len(got))
		}
		flood := makeDeliveries(12, wh, "role:k", "user:1")
		n.deliver(t, flood)
		want := idsOf(flood[7:])
		slices.Sort(want)
		if diff := cmp.Diff(want, n.bodies(t)); diff != "" {
			t.Errorf("bodies: -want +got\n%s", diff)
		}
	})
}

func TestRemovalAboveTheCursorResets(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger(), capOf(5))
		n.deliver(t, makeDeliveries(1, wh, "user:1"))
		both, one := query("role:k", "user:1"), query("role:k")
		cursor, untouched := n.poll(t, both).Cursor, n.poll(t, one).Cursor
		flood := makeDeliveries(7, wh, "user:1")
		n.deliver(t, flood)

		pg := n.poll(t, after(both, cursor))
		if diff := cmp.Diff(idsOf(flood[2:]), ids(pg)); diff != "" || !pg.Reset {
			t.Errorf("reset %v: -want +got\n%s", pg.Reset, diff)
		}
		if next := n.poll(t, after(both, pg.Cursor)); next.Reset || len(next.Notices) != 0 {
			t.Errorf("after the reset: %+v", next)
		}
		if pg := n.poll(t, after(one, untouched)); pg.Reset {
			t.Error("another inbox was reset too")
		}
	})
}

// One inbox has lost its older notices, and another has kept some of the same age. A reader of both, page by page, gets
// one reset only.
func TestAResetIsToldOnce(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger(), capOf(4))
		n.deliver(t, makeDeliveries(1, wh, "user:1"))
		q := query("role:k", "user:1")
		q.Limit = 1
		cursor := n.poll(t, q).Cursor
		kept := makeDeliveries(3, wh, "user:1")
		n.deliver(t, kept)
		flood := makeDeliveries(6, wh, "role:k")
		n.deliver(t, flood)

		var got []string
		for i := range 7 {
			pg := n.poll(t, after(q, cursor))
			if pg.Reset != (i == 0) {
				t.Errorf("page %d: reset %v", i, pg.Reset)
			}
			if i > 0 { // the first of the window was seen before
				got = append(got, ids(pg)...)
			}
			cursor = pg.Cursor
		}
		if diff := cmp.Diff(slices.Concat(idsOf(kept), idsOf(flood[2:5])), got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		// Notices that are removed from now on cause another reset.
		n.deliver(t, makeDeliveries(2, wh, "role:k"))
		if pg := n.poll(t, after(q, cursor)); pg.Reset {
			t.Error("it was seen when it went")
		}
		n.deliver(t, makeDeliveries(4, wh, "role:k"))
		if pg := n.poll(t, after(q, cursor)); !pg.Reset {
			t.Error("something unseen went, and nobody said so")
		}
	})
}

// A notice that came again after every inbox had let go of it is new.
func TestDeliverAgainAfterRemoval(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		n := newNode(t, t.addr, newMemoryLedger(), capOf(2))
		old := makeDeliveries(1, wh, "user:1")
		first := n.deliver(t, old)
		n.deliver(t, makeDeliveries(2, wh, "user:1"))
		again := n.deliver(t, old)
		if again[0].Score <= first[0].Score {
			t.Errorf("%+v, then %+v", first, again)
		}
		if pg := n.poll(t, query("user:1")); !slices.Contains(ids(pg), old[0].Notice.ID) {
			t.Errorf("%v", ids(pg))
		}
	})
}

func TestEveryKeyHasPrefixAndTag(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{testenv.Redis(t).Addr, onMiniredis(t)} {
		n := newNode(t, addr, newMemoryLedger(), func(o *Options) { o.Prefix = "site[a]*?:" })
		n.deliver(t, slices.Concat(makeDeliveries(1, wh, "user:1", "role:k")))
		n.deliver(t, makeDeliveries(1, "other", "user:1"))
		all, err := n.client.Keys(t.Context(), "*").Result()
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(all)
		var want []string
		for _, k := range []string{
			"epoch", "{119240}:clock", "{119240}:expiry", "{119240}:inboxes", "{119240}:notices", "{119240}:of:role:k", "{119240}:of:user:1",
			"{other}:clock", "{other}:expiry", "{other}:inboxes", "{other}:notices", "{other}:of:user:1",
		} {
			want = append(want, "site[a]*?:inbox:"+k)
		}
		if diff := cmp.Diff(want, all); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
}

func TestNewRefusesWhatBreaksTheTag(t *testing.T) {
	t.Parallel()
	n := newNode(t, onMiniredis(t), newMemoryLedger())
	for _, o := range []Options{
		{Prefix: "a{b}:"}, {Prefix: "a b"}, {Prefix: "a\n"}, {Sink: "in{box"}, {Cap: -1},
	} {
		o.Client, o.Watch, o.Ledger, o.Session = n.client, recovery.NewWatch(), n.ledger, sinktest.Session("x")
		if _, err := New(o); err == nil {
			t.Errorf("%q, %q, %d: taken", o.Prefix, o.Sink, o.Cap)
		}
	}
	if _, err := New(Options{}); err == nil || !strings.Contains(err.Error(), "Client") {
		t.Errorf("nothing given: %v", err)
	}
}

// bodies returns the ids of the bodies in Redis, sorted.
func (n *node) bodies(t testing.TB) []string {
	t.Helper()
	got, err := n.client.HKeys(t.Context(), n.keys.notices(wh)).Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	return got
}
