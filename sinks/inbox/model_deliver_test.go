package inbox

import (
	"errors"
	"slices"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/delivery"
)

// parts takes a batch apart as the scripts are called for it: a wide notice stands alone.
func (m *model) parts(batch []delivery.Delivery) [][]delivery.Delivery {
	entries := make([]entry, len(batch))
	for i, d := range batch {
		entries[i] = entry{id: d.Notice.ID, to: d.Recipients}
	}
	var out [][]delivery.Delivery
	for _, part := range m.n.chunks(entries) {
		out = append(out, batch[:len(part)])
		batch = batch[len(part):]
	}
	return out
}

// begin is what the first delivery does: it sets the clock to now.
func (m *model) begin() {
	if !m.opened {
		m.opened, m.last = true, max(m.last, m.clock.now().UnixMicro())
	}
}

// take is one part of a delivery, from beginning to end. It returns the scores.
func (m *model) take(part []delivery.Delivery) []int64 {
	m.begin()
	wide := len(part[0].Recipients) > m.n.o.maxInboxes
	if wide {
		score, old := m.openWide(part[0])
		if !old {
			m.addWide(part[0], part[0].Recipients)
			m.closeWide(part[0])
		}
		return []int64{score}
	}
	before, fresh := map[string]int64{}, false
	for _, d := range part {
		score, old := m.scoreOf(d)
		before[d.Notice.ID] = score
		fresh = fresh || !old
	}
	if fresh {
		m.undo()
	}
	var scores []int64
	for _, d := range part {
		score := before[d.Notice.ID]
		if score == 0 {
			score = max(m.last+1, m.clock.now().UnixMicro())
			m.last = score
			for _, s := range d.Recipients {
				in := m.inbox(s)
				in.notices = append(in.notices, modelNotice{id: d.Notice.ID, score: score, expires: d.Notice.ExpiresAt})
			}
		}
		scores = append(scores, score)
	}
	m.trim()
	return scores
}

// scoreOf is the score that a notice has in any of its inboxes, where all who look see it.
func (m *model) scoreOf(d delivery.Delivery) (score int64, old bool) {
	for _, s := range d.Recipients {
		for _, n := range m.inbox(s).notices {
			if n.id == d.Notice.ID && !n.hidden {
				return n.score, true
			}
		}
	}
	return 0, false
}

// openWide begins to deliver a wide notice, or goes on with a delivery that broke off.
func (m *model) openWide(d delivery.Delivery) (score int64, old bool) {
	if m.open != nil && m.open.id == d.Notice.ID {
		return m.open.score, false
	}
	m.undo()
	if score, old = m.scoreOf(d); old {
		return score, true
	}
	score = max(m.last+1, m.clock.now().UnixMicro()) + int64(m.n.o.wideGap)
	m.open = &modelNotice{id: d.Notice.ID, score: score, expires: d.Notice.ExpiresAt, hidden: true}
	return score, false
}

// addWide puts the open notice into some of its inboxes, where no reader sees it yet.
func (m *model) addWide(d delivery.Delivery, to []string) {
	for _, s := range to {
		in := m.inbox(s)
		if !slices.ContainsFunc(in.notices, func(n modelNotice) bool { return n.id == d.Notice.ID }) {
			in.notices = append(in.notices, *m.open)
		}
	}
	m.trim()
}

// closeWide lets everybody see it.
func (m *model) closeWide(d delivery.Delivery) {
	for _, in := range m.inboxes {
		for i := range in.notices {
			if in.notices[i].id == d.Notice.ID {
				in.notices[i].hidden = false
			}
		}
	}
	m.last = max(m.last, m.open.score)
	m.open = nil
}

// undo takes back a wide notice whose delivery broke off.
func (m *model) undo() {
	for _, in := range m.inboxes {
		in.notices = slices.DeleteFunc(in.notices, func(n modelNotice) bool { return n.hidden })
	}
	m.open = nil
}

// next is the clock at which something is marked. While a delivery is open, there is room for so many marks below it,
// or it is undone.
func (m *model) next(room int64) int64 {
	if m.open != nil && m.last+room >= m.open.score {
		m.undo()
	}
	if m.open != nil {
		return m.last + 1
	}
	return max(m.last+1, m.clock.now().UnixMicro())
}

// breakOff delivers a wide notice, and the node dies before or after one of the calls that it takes.
func (m *model) breakOff(t *rapid.T) {
	if m.n.o.maxInboxes > 3 {
		t.Skip("no notice is wide")
	}
	var d delivery.Delivery
	if m.open != nil && rapid.Bool().Draw(t, "the same") {
		d = m.batches[slices.IndexFunc(m.batches, func(b []delivery.Delivery) bool { return b[0].Notice.ID == m.open.id })][0]
	} else {
		to := rapid.SampledFrom([][]string{{"role:a", "role:b", "user:1"}, {"role:a", "role:b", "user:1", "user:2"}}).Draw(t, "to")
		d = makeDeliveries(1, wh, to...)[0]
		d.Notice.CreatedAt, d.Notice.ExpiresAt = m.clock.now(), m.clock.now().Add(time.Duration(rapid.IntRange(1, 5).Draw(t, "hours"))*time.Hour)
		m.batches = append(m.batches, []delivery.Delivery{d})
	}
	calls, portions := rapid.IntRange(0, 3).Draw(t, "calls"), slices.Collect(slices.Chunk(d.Recipients, m.n.o.maxInboxes))
	m.breaks.after(calls, rapid.Bool().Draw(t, "answer lost"), m.n.scripts)
	_, err := m.n.Deliver(t.Context(), wh, []delivery.Delivery{d})
	done := m.breaks.stop() // how many calls had an effect
	if !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if done > 0 {
		m.begin()
		m.openWide(d)
	}
	for i := range min(done-1, len(portions)) {
		m.addWide(d, portions[i])
	}
	if done > 1+len(portions) {
		m.closeWide(d)
	}
}
