package inbox

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"tallyman/sinks/inbox/page"
)

// modelReader is what a user has read and acked, and when by the warehouse's clock.
type modelReader struct {
	read, acked map[string]int64
	upTo        []modelUpTo
	due         time.Time // when it is looked through; zero = it has marked nothing
}

// marks says that it has marked something, perhaps for the first time.
func (r *modelReader) marks(now time.Time) {
	if r.due.IsZero() {
		r.due = now.Add(trimEvery)
	}
}

// modelUpTo is one read-all of one inbox.
type modelUpTo struct {
	inbox     string
	score, at int64
}

func (m *model) reader(user string) *modelReader {
	if m.readers[user] == nil {
		m.readers[user] = &modelReader{read: map[string]int64{}, acked: map[string]int64{}}
	}
	return m.readers[user]
}

// mark keeps the first time of each kind, and tells whether it was new.
func (r *modelReader) mark(id string, acked bool, at int64) bool {
	_, wasRead := r.read[id]
	_, wasAcked := r.acked[id]
	if !wasRead {
		r.read[id] = at
	}
	if acked && !wasAcked {
		r.acked[id] = at
	}
	return !wasRead || acked && !wasAcked
}

// became returns when the reader of the query read the notice first, in whichever of the inboxes, and when it acked it;
// 0 = it has not.
func (m *model) became(q page.Query, n modelNotice) (read, acked int64) {
	user := q.Reader()
	if user == "" {
		return 0, 0
	}
	r := m.reader(user)
	read = r.read[n.id]
	for _, u := range r.upTo {
		holds := slices.Contains(q.Subscribers, u.inbox) && slices.ContainsFunc(m.inbox(u.inbox).notices, func(o modelNotice) bool { return o.id == n.id })
		if holds && u.score >= n.score && (read == 0 || u.at < read) {
			read = u.at
		}
	}
	return read, r.acked[n.id]
}

// changes are those after a clock of notices up to a score, as summary has them.
func (m *model) changes(q page.Query, score, after int64) []string {
	out := []string{}
	for _, s := range q.Subscribers {
		for _, n := range m.inbox(s).notices {
			if n.score > score {
				continue
			}
			switch read, acked := m.became(q, n); {
			case acked > after:
				out = append(out, fmt.Sprint(n.id, " acked ", acked))
			case read > after:
				out = append(out, fmt.Sprint(n.id, " read ", read))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mark marks some notices that were delivered once, whether they are there still or not.
func (m *model) mark(t *rapid.T) {
	if len(m.batches) == 0 {
		t.Skip("nothing was delivered yet")
	}
	user := rapid.SampledFrom([]string{"user:1", "user:2"}).Draw(t, "user")
	acked := rapid.Bool().Draw(t, "acked")
	batch := m.batches[rapid.IntRange(max(0, len(m.batches)-4), len(m.batches)-1).Draw(t, "batch")]
	id := batch[rapid.IntRange(0, len(batch)-1).Draw(t, "notice")].Notice.ID
	m.n.mark(t, m.clock.now(), user, acked, id)
	m.begin()
	at := m.next(10) // the arguments of that script call
	m.reader(user).marks(m.clock.now())
	if m.reader(user).mark(id, acked, at) {
		m.last = at
	}
}

// readAll reads everything up to any cursor that was given, in some inboxes.
func (m *model) readAll(t *rapid.T) {
	if len(m.held) == 0 || !m.opened {
		t.Skip("there is no cursor yet")
	}
	user := rapid.SampledFrom([]string{"user:1", "user:2"}).Draw(t, "user")
	inboxes := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"role:a", "role:b", user}), 1, 3, rapid.ID[string]).Draw(t, "inboxes")
	cursor := m.held[rapid.IntRange(max(0, len(m.held)-4), len(m.held)-1).Draw(t, "cursor")]
	m.n.readAll(t, m.clock.now(), user, cursor, inboxes...)
	score, at, r := min(m.cursors[cursor].score, m.last), m.next(1), m.reader(user)
	for _, inbox := range inboxes {
		rose := score > 0 && !slices.ContainsFunc(r.upTo, func(u modelUpTo) bool { return u.inbox == inbox && u.score >= score })
		if rose {
			r.upTo = append(r.upTo, modelUpTo{inbox, score, at})
			r.marks(m.clock.now())
			m.last = at
		}
	}
}

// trimMarks removes the marks of notices that are gone. No page may show a difference.
func (m *model) trimMarks(t *rapid.T) {
	if err := m.n.Trim(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := m.clock.now()
	for _, r := range m.readers {
		if r.due.IsZero() || r.due.After(now) {
			continue
		}
		for _, marks := range []map[string]int64{r.read, r.acked} {
			maps.DeleteFunc(marks, func(id string, at int64) bool { return at <= now.Add(-markStays).UnixMicro() && !m.isHeld(id) })
		}
		r.upTo = slices.DeleteFunc(r.upTo, func(u modelUpTo) bool {
			return !slices.ContainsFunc(m.inbox(u.inbox).notices, func(n modelNotice) bool { return n.score <= u.score })
		})
		r.due = now.Add(trimEvery)
		if len(r.read)+len(r.acked)+len(r.upTo) == 0 {
			r.due = time.Time{}
		}
	}
}

func (m *model) isHeld(id string) bool {
	if m.open != nil && m.open.id == id {
		return true
	}
	for _, in := range m.inboxes {
		if slices.ContainsFunc(in.notices, func(n modelNotice) bool { return n.id == id }) {
			return true
		}
	}
	return false
}
