package inbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
	"tallyman/sinks/inbox/page"
)

// fewChecks are enough where all that could differ is how a server takes the scripts. Scripts of the in-process Redis
// are slow.
const fewChecks = 25

// TestInboxAgainstAModel does random things to an inbox and to a plain model of it, and compares every page.
func TestInboxAgainstAModel(t *testing.T) {
	t.Parallel()
	onAll(t, func(t site) {
		few, checks, failed := !strings.HasSuffix(t.Name(), "/redis"), 0, false
		rapid.Check(t, func(rt *rapid.T) {
			if checks++; few && checks > fewChecks && !failed { // one that failed is made small
				return
			}
			defer func() { failed = failed || rt.Failed() }()
			clock := newTestClock(time.UnixMicro(1780272600000000))
			most := rapid.IntRange(2, 8).Draw(rt, "cap")
			ledger := newMemoryLedger()
			ledger.now = clock.now
			n := newNodeThat(t, func(in *Inbox, ctx context.Context) { in.keeper.Run(ctx) }, t.addr, ledger, clock.option, capOf(most), func(o *Options) {
				o.Prefix = newPrefix()
				o.Logger = nil
				o.maxInboxes = rapid.SampledFrom([]int{2, 2, maxInboxes}).Draw(rt, "inboxes of a call")
				o.wideGap = rapid.SampledFrom([]int{3, 1000}).Draw(rt, "gap")
			})
			defer n.stop()
			m := &model{tb: t, n: n, clock: clock, most: most, inboxes: map[string]*modelInbox{}, cursors: map[string]modelCursor{}, readers: map[string]*modelReader{}}
			n.client.AddHook(&m.breaks)
			rt.Repeat(map[string]func(*rapid.T){
				"deliver": m.deliver, "again": m.again, "break off": m.breakOff, "poll": m.poll, "follow": m.follow, "sweep": m.sweep, "advance": m.advance, "lose": m.lose,
				"mark": m.mark, "read all": m.readAll, "trim": m.trimMarks,
			})
		})
	})
}

// model is what the inbox should be.
type model struct {
	tb      testing.TB
	n       *node
	clock   *testClock
	most    int
	last    int64 // the highest score
	opened  bool
	inboxes map[string]*modelInbox
	batches [][]delivery.Delivery
	cursors map[string]modelCursor // by text
	held    []string
	readers map[string]*modelReader
	open    *modelNotice // a wide notice whose delivery broke off; its entries are hidden
	breaks  breaks
}

type modelInbox struct {
	notices []modelNotice
	removed int64
	gone    []int64 // the scores of what the cap removed
}

type modelNotice struct {
	id      string
	score   int64
	expires time.Time
	hidden  bool // its delivery has not ended
}

// modelCursor is what a cursor stands for.
type modelCursor struct {
	epoch   int
	score   int64
	changes int64
	query   page.Query
	removed map[string]int64
}

func (m *model) inbox(s string) *modelInbox {
	if m.inboxes[s] == nil {
		m.inboxes[s] = &modelInbox{}
	}
	return m.inboxes[s]
}

func (m *model) deliver(t *rapid.T) {
	var batch []delivery.Delivery
	for range rapid.IntRange(1, 3).Draw(t, "groups") {
		to := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"role:a", "role:b", "user:1", "user:2"}), 1, 4, rapid.ID[string]).Draw(t, "to")
		for _, d := range makeDeliveries(rapid.IntRange(1, 3).Draw(t, "notices"), wh, to...) {
			d.Notice.CreatedAt = m.clock.now()
			d.Notice.ExpiresAt = m.clock.now().Add(time.Duration(rapid.IntRange(1, 5).Draw(t, "hours")) * time.Hour)
			batch = append(batch, d)
		}
	}
	m.batches = append(m.batches, batch)
	m.give(t, batch)
}

// again delivers a batch once more, as a node does whose predecessor died before it recorded the receipts.
func (m *model) again(t *rapid.T) {
	if len(m.batches) == 0 {
		t.Skip("nothing was delivered yet")
	}
	m.give(t, m.batches[rapid.IntRange(max(0, len(m.batches)-3), len(m.batches)-1).Draw(t, "batch")])
}

func (m *model) give(t *rapid.T, batch []delivery.Delivery) {
	receipts, err := m.n.Deliver(t.Context(), wh, batch)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.n.ledger.record(batch, receipts); err != nil {
		t.Fatal(err)
	}
	var want []int64
	for _, part := range m.parts(batch) {
		want = append(want, m.take(part)...)
	}
	if got := scoresOf(receipts); !slices.Equal(want, got) {
		t.Fatalf("scores %v, want %v", got, want)
	}
}

// poll reads without a cursor, or with any cursor that was given out.
func (m *model) poll(t *rapid.T) {
	who := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"role:a", "role:b", "user:1", "user:2"}), 1, 3, rapid.ID[string]).Draw(t, "who")
	q := query(who...)
	q.Unread = rapid.IntRange(0, 4).Draw(t, "unread") == 0
	switch rapid.IntRange(0, 3).Draw(t, "from") {
	case 0:
		q.Since = m.clock.now().Add(-time.Duration(rapid.IntRange(0, 200).Draw(t, "ago")) * time.Minute).UnixMilli()
	case 1:
		if len(m.held) > 0 {
			q.After = m.held[rapid.IntRange(max(0, len(m.held)-4), len(m.held)-1).Draw(t, "cursor")]
		}
	}
	m.ask(t, q)
}

// follow goes on where a window left off.
func (m *model) follow(t *rapid.T) {
	if len(m.held) == 0 {
		t.Skip("nobody has polled yet")
	}
	cursor := m.held[rapid.IntRange(max(0, len(m.held)-4), len(m.held)-1).Draw(t, "cursor")]
	q := m.cursors[cursor].query
	q.After, q.Since = cursor, 0
	m.ask(t, q)
}

func (m *model) ask(t *rapid.T, q page.Query) {
	q.Limit = rapid.IntRange(1, 6).Draw(t, "limit")
	got, err := m.n.Poll(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	want, cursor := m.expect(q)
	m.cursors[got.Cursor] = cursor
	m.held = append(m.held, got.Cursor)
	if diff := cmp.Diff(want, summary(got)); diff != "" {
		t.Fatalf("%+v with %+v: -want +got\n%s", q, m.cursors[q.After], diff)
	}
}

// modelPage is what a page comes to.
type modelPage struct {
	Notices     []string // with what became of them
	Changes     []string
	Unread      int
	More, Reset bool
	Reason      page.ResetReason
	Missed      int // after a reset
	Clock       int64
}

func summary(pg page.Page) modelPage {
	out := modelPage{Notices: []string{}, Changes: []string{}, Unread: pg.Unread, More: pg.More, Reset: pg.Reset, Reason: pg.Reason, Missed: pg.Missed, Clock: pg.Clock}
	for _, v := range pg.Notices {
		out.Notices = append(out.Notices, noted(v.ID, v.Read, v.Acked))
	}
	for _, c := range pg.Changes {
		out.Changes = append(out.Changes, fmt.Sprint(c.ID, " ", c.Kind, " ", c.Score))
	}
	slices.Sort(out.Changes)
	return out
}

func noted(id string, read, acked bool) string { return fmt.Sprint(id, " ", read, " ", acked) }

// expect is the whole of the reader's side, in plain words.
func (m *model) expect(q page.Query) (modelPage, modelCursor) {
	now := m.clock.now()
	from := now.Add(-window).UnixMicro() - 1
	want := modelPage{Notices: []string{}, Changes: []string{}, Clock: m.last}
	if !m.opened {
		want.Clock = 0
	}
	if q.Since > 0 {
		from = q.Since*1000 - 1
		want.Changes = m.changes(q, from, from)
	}
	if c, ok := m.cursors[q.After]; ok {
		want.Reason = m.reason(c, q)
		want.Reset = want.Reason != ""
		if want.Reset {
			want.Missed = m.missed(c, q, want.Reason)
		} else {
			from = c.score
			want.Changes = m.changes(q, c.score, c.changes)
		}
	}
	all, alive := map[int64]modelNotice{}, map[int64]bool{}
	for _, s := range q.Subscribers {
		for _, n := range m.inbox(s).notices {
			if n.hidden {
				continue
			}
			all[n.score] = n
			if n.expires.After(now) {
				alive[n.score] = true
			}
		}
	}
	for _, score := range slices.Sorted(maps.Keys(all)) {
		read, acked := m.became(q, all[score])
		if alive[score] && read == 0 {
			want.Unread++
		}
		if score <= from || want.More {
			continue
		}
		if len(want.Notices) == q.Limit {
			want.More, want.Clock = true, from
			continue
		}
		if alive[score] && (!q.Unread || read == 0) {
			want.Notices = append(want.Notices, noted(all[score].id, read > 0, acked > 0))
		}
		from = score
	}
	c := modelCursor{epoch: m.n.ledger.epochs(), score: want.Clock, changes: m.last, query: q, removed: map[string]int64{}}
	for _, s := range q.Subscribers {
		c.removed[s] = m.inbox(s).removed
	}
	return want, c
}

func (m *model) sweep(t *rapid.T) {
	if err := m.n.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.forgetExpired()
}

// forgetExpired is what a sweep does to the inboxes.
func (m *model) forgetExpired() {
	for _, in := range m.inboxes {
		in.notices = slices.DeleteFunc(in.notices, func(n modelNotice) bool { return !n.expires.After(m.clock.now()) })
	}
	if m.open != nil && !m.open.expires.After(m.clock.now()) {
		m.open = nil
	}
}

func (m *model) advance(t *rapid.T) {
	m.clock.advance(time.Duration(rapid.IntRange(0, 100).Draw(t, "minutes")) * time.Minute)
}

// lose empties Redis. Afterwards Redis has the notices of the ledger, without expired ones.
func (m *model) lose(*rapid.T) {
	begun := m.n.ledger.epochs()
	m.n.forget(m.tb)
	m.n.keeper.CheckNow()
	testenv.Eventually(m.tb, func() bool { return m.n.ledger.epochs() > begun && m.n.Ready() == nil }, 20*time.Second)
	m.inboxes, m.open = map[string]*modelInbox{}, nil
	delivered := slices.SortedFunc(maps.Values(m.n.ledger.delivered), func(a, b delivery.ScoredDelivery) int { return int(a.Score - b.Score) })
	for _, d := range delivered {
		for _, s := range d.Recipients {
			in := m.inbox(s)
			in.notices = append(in.notices, modelNotice{id: d.Notice.ID, score: d.Score, expires: d.Notice.ExpiresAt})
		}
	}
	m.forgetExpired()
	m.trim()
	if len(delivered) > 0 {
		m.last = max(delivered[len(delivered)-1].Score, m.clock.now().UnixMicro())
	} else {
		m.opened, m.last = false, 0
		if len(m.n.ledger.marks)+len(m.n.ledger.reads) > 0 { // they are written back, which takes a clock
			m.begin()
		}
	}
	for _, w := range m.n.ledger.reads {
		m.last = max(m.last, w.Score)
	}
	m.readers = map[string]*modelReader{}
	for _, k := range m.n.ledger.marks {
		m.reader(k.User).marks(m.clock.now())
		m.reader(k.User).mark(k.Notice, k.Acked, min(k.At.UnixMicro(), m.last))
	}
	for _, w := range m.n.ledger.reads {
		r := m.reader(w.User)
		r.marks(m.clock.now())
		r.upTo = append(r.upTo, modelUpTo{inbox: w.Inbox, score: w.Score, at: min(w.At.UnixMicro(), m.last)})
	}
}

// trim is what the cap does.
func (m *model) trim() {
	for _, in := range m.inboxes {
		for len(in.notices) > m.most {
			in.removed = in.notices[0].score
			in.gone = append(in.gone, in.removed)
			in.notices = in.notices[1:]
		}
	}
}
