package inbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
	"tallyman/sinks/inbox/page"
)

// mostOfScript is the most that one call of a script may cost: a few milliseconds of the server, whatever a client or a
// rule asks for. docs/reference/redis-keys.md names these bounds.
var mostOfScript = testenv.ScriptCost{Keys: 1010, Sent: 6 << 20, Answered: 6 << 20, Commands: 6000}

// names are those of the scripts by their hashes.
func (s scripts) names() map[string]string {
	return map[string]string{
		s.fanout.Hash(): "fanout", s.open.Hash(): "open", s.add.Hash(): "add", s.close.Hash(): "close", s.undo.Hash(): "undo",
		s.poll.Hash(): "poll", s.unread.Hash(): "unread", s.popups.Hash(): "popups", s.begin.Hash(): "begin", s.wipe.Hash(): "wipe",
		s.due.Hash(): "due", s.sweep.Hash(): "sweep", s.mark.Hash(): "mark", s.readAll.Hash(): "readall", s.trim.Hash(): "trim",
	}
}

// The sizes of the largest inputs. They are smaller with the race detector.
const (
	manyInboxes = 12_000 / testenv.RaceCut // recipients of one notice
	fullInbox   = 10_500 / testenv.RaceCut // notices of one inbox
	manyMarks   = 9_000 / testenv.RaceCut  // of one user
)

// largeSite is a node on a real Redis whose script calls are watched. The clock is the test's.
type largeSite struct {
	*node
	t     *testing.T
	clock *testClock
	watch *testenv.ScriptWatch
}

func newLargeSite(t *testing.T) *largeSite {
	t.Helper()
	server := testenv.Redis(t)
	clock := newTestClock(time.Now())
	ledger := newMemoryLedger()
	ledger.now = clock.now
	run := func(in *Inbox, ctx context.Context) { in.keeper.Run(ctx) } // the rest is called by the tests
	n := newNodeThat(t, run, server.Addr, ledger, clock.option, capOf(fullInbox-500/testenv.RaceCut))
	s := &largeSite{node: n, t: t, clock: clock}
	s.watch = testenv.WatchScripts(t, n.client, server.Client(t), mostOfScript, n.scripts.names())
	t.Cleanup(s.watch.Log)
	return s
}

func (s *largeSite) give(batch []delivery.Delivery) []delivery.Receipt {
	s.t.Helper()
	for i := range batch {
		batch[i].Notice.CreatedAt, batch[i].Notice.ExpiresAt = s.clock.now(), s.clock.now().Add(48*time.Hour)
	}
	var all []delivery.Receipt
	for part := range slices.Chunk(batch, maxBatch) {
		all = append(all, s.deliver(s.t, part)...)
	}
	return all
}

// subscribers are n users from a number on, with the longest names that there are where long is true.
func subscribers(from, n int, long bool) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("user:%06d", from+i)
		if long {
			out[i] += strings.Repeat("x", 133-len(out[i]))
		}
	}
	return out
}

// Whatever recipients the notices of a batch have, and however large the notices are.
func TestScriptsAreBoundedForEveryDelivery(t *testing.T) {
	t.Parallel()
	large := func(n, bytes int, to ...string) []delivery.Delivery {
		batch := makeDeliveries(n, wh, to...)
		for i := range batch {
			batch[i].Notice.Body = strings.Repeat("x", bytes)
		}
		return batch
	}
	var different []delivery.Delivery
	for i := range 60 / testenv.RaceCut {
		different = append(different, makeDeliveries(1, wh, subscribers(1000*i, 1000, false)...)...)
	}
	for name, batch := range map[string][]delivery.Delivery{
		"one to very many":      makeDeliveries(3, wh, subscribers(0, manyInboxes, true)...),
		"many to many":          makeDeliveries(maxBatch/testenv.RaceCut, wh, subscribers(0, maxInboxes, true)...),
		"many to others each":   different,
		"large ones":            large(maxBatch/testenv.RaceCut, 64<<10, "user:1", "role:k"),
		"very large ones":       large(5, maxNotice-1000, "user:1", "role:k"),
		"very large to many":    large(2, maxNotice-1000, subscribers(0, 3*maxInboxes, true)...),
		"wide between narrow":   slices.Concat(makeDeliveries(3, wh, "user:1"), makeDeliveries(2, wh, subscribers(0, 700, false)...), makeDeliveries(3, wh, "user:1")),
		"one more than allowed": makeDeliveries(2, wh, subscribers(0, maxInboxes+1, false)...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLargeSite(t)
			receipts := s.give(batch)
			if again := s.give(batch); !slices.Equal(scoresOf(receipts), scoresOf(again)) {
				t.Error("delivered again, the notices have other scores")
			}
			reader := batch[len(batch)-1].Recipients[len(batch[len(batch)-1].Recipients)-1]
			pg := s.poll(t, query(reader))
			for pg.More {
				pg = s.poll(t, after(query(reader), pg.Cursor))
			}
			if pg.Unread == 0 || pg.Clock != receipts[len(receipts)-1].Score {
				t.Errorf("%d unread, the clock is %d", pg.Unread, pg.Clock)
			}
			s.forget(t)
			s.keeper.CheckNow()
			testenv.Eventually(t, func() bool { return s.ledger.epochs() > 1 && s.Ready() == nil }, time.Minute)
			s.clock.advance(72 * time.Hour)
			if err := s.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if left := s.keysLike(t, "*:of:*"); len(left)+len(s.bodies(t)) > 0 {
				t.Errorf("%d inboxes and %d bodies are left", len(left), len(s.bodies(t)))
			}
			if left := s.keysLike(t, "*:to:*"); len(left) > 0 {
				t.Errorf("%d lists of recipients are left", len(left))
			}
		})
	}
}

// Readers of full inboxes, who have read nothing, single notices, or all.
func TestScriptsAreBoundedForEveryReader(t *testing.T) {
	t.Parallel()
	s := newLargeSite(t)
	roles := make([]string, page.MaxSubscribers-1)
	for i := range roles {
		roles[i] = fmt.Sprintf("role:%02d", i)
	}
	all := append(slices.Clone(roles), "user:1")
	few := query("role:00", "user:1")
	popups := makeDeliveries(maxBatch, wh, all...)
	for i := range popups {
		popups[i].Notice.Modal = "popup"
	}
	s.give(popups)
	s.give(makeDeliveries(maxBatch, wh, all...))
	for _, role := range roles[:20] { // the inboxes differ
		s.give(makeDeliveries(60, wh, role))
	}
	start := s.poll(t, few).Cursor
	startOfAll := s.poll(t, query(all...)).Cursor
	batch := makeDeliveries(fullInbox, wh, "role:00")
	s.give(batch)
	look := func() {
		t.Helper()
		for _, q := range []page.Query{query(all...), few, query("role:00"), query(roles...)} {
			q.Limit = page.MaxLimit
			pg := s.poll(t, q)
			s.poll(t, after(q, pg.Cursor))
			q.Unread = true
			s.poll(t, q)
			if _, err := s.Summary(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		s.poll(t, after(few, start))
		s.poll(t, after(query(all...), startOfAll))
	}
	look()

	// Mark single notices, until the user has read nearly all.
	ids := idsOf(batch[len(batch)-manyMarks:])
	s.mark(t, s.clock.now(), "user:1", true, ids...)
	want := len(batch) - manyMarks
	if pg := s.poll(t, query("role:00", "user:1")); min(want, maxUnread) > pg.Unread {
		t.Errorf("%d unread, of %d at least", pg.Unread, want)
	}
	look()
	s.clock.advance(markStays + trimEvery)
	if err := s.Trim(t.Context()); err != nil {
		t.Fatal(err)
	}

	// Mark everything as read: first inbox by inbox, so that the watermarks differ, then all inboxes at once. Other
	// windows get the changes at once.
	before := s.poll(t, query(all...)).Cursor
	for i := range roles[:10] {
		s.readAll(t, s.clock.now(), "user:1", startOfAll, roles[i])
		s.clock.advance(time.Second)
	}
	look()
	s.readAll(t, s.clock.now(), "user:1", s.poll(t, query(all...)).Cursor, all...)
	s.poll(t, after(query(all...), before))
	look()

	// Watermarks of very many inboxes: each is of one that holds something.
	others := make([]string, 3*keepInboxes/2)
	for i := range others {
		others[i] = fmt.Sprintf("role:x%05d", i)
	}
	s.give(makeDeliveries(1, wh, others...))
	end := s.poll(t, query(all...)).Cursor
	for part := range slices.Chunk(others, 100) {
		s.readAll(t, s.clock.now(), "user:1", end, part...)
	}
	if n := s.client.ZCard(t.Context(), s.keys.upto(wh, "user:1")).Val(); n > keepUpto+keepInboxes {
		t.Errorf("%d watermarks are kept", n)
	}
	look()
	s.clock.advance(trimEvery)
	if err := s.Trim(t.Context()); err != nil {
		t.Fatal(err)
	}

	// A new epoch removes and writes back all of that.
	s.forgetEpoch(t)
	look()
	s.clock.advance(72 * time.Hour)
	if _, err := s.Summary(t.Context(), query(all...)); err != nil { // what has expired is swept first
		t.Fatal(err)
	}
	for range 3 {
		s.clock.advance(trimEvery)
		if err := s.Trim(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if left := s.keysLike(t, "*:upto:*"); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// forgetEpoch makes the index begin again while the data of an older epoch is still there.
func (n *node) forgetEpoch(t testing.TB) {
	t.Helper()
	begun := n.ledger.epochs()
	if err := n.client.Del(t.Context(), n.keys.epoch()).Err(); err != nil {
		t.Fatal(err)
	}
	n.keeper.CheckNow()
	testenv.Eventually(t, func() bool { return n.ledger.epochs() > begun && n.Ready() == nil }, time.Minute)
}

// Marks of many users at once, as a node brings them in that another one has recorded.
func TestScriptsAreBoundedForEveryMark(t *testing.T) {
	t.Parallel()
	s := newLargeSite(t)
	batch := makeDeliveries(maxBatch, wh, "role:k")
	s.give(batch)
	var marks []delivery.Mark
	for i, user := range subscribers(0, markPage/testenv.RaceCut, true) {
		marks = append(marks, delivery.Mark{Notice: batch[i%len(batch)].Notice.ID, Warehouse: wh, User: user, Acked: true, At: s.clock.now()})
		s.ledger.reads = append(s.ledger.reads, delivery.Watermark{Warehouse: wh, User: "user:1", Inbox: user, Score: 1, At: s.clock.now()})
	}
	s.ledger.marks = marks
	if err := s.Mark(t.Context(), marks); err != nil {
		t.Fatal(err)
	}
	if err := s.catchUp(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	s.forgetEpoch(t)
	s.clock.advance(markStays + trimEvery)
	if err := s.Trim(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A cap that was lowered takes effect in steps.
func TestALowerCapIsBounded(t *testing.T) {
	t.Parallel()
	s := newLargeSite(t)
	s.give(makeDeliveries(fullInbox, wh, "user:1", "user:2"))
	s.o.Cap = 100
	for range 20 {
		s.give(makeDeliveries(1, wh, subscribers(1, 2, false)...))
		s.give(makeDeliveries(2, wh, "user:1", "user:2"))
	}
	if n := s.client.ZCard(t.Context(), s.keys.inbox(wh, "user:1")).Val(); n != 100 {
		t.Errorf("%d notices are left in an inbox that keeps 100", n)
	}
	if got := len(s.bodies(t)); got != 120 { // those of the two other inboxes, too
		t.Errorf("%d bodies are left", got)
	}
}
