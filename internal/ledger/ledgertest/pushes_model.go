package ledgertest

import (
	"cmp"
	"slices"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

// pushModel is what a ledger should do with the deliveries of one push channel, written as plainly as can be.
type pushModel struct {
	now    time.Time
	pushes []*modelPush // by seq
}

// modelPush is a delivery. It is open while it is pending.
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
	until     time.Time // the end of the lease
	first     time.Time
	deadline  time.Time
	behind    bool
	node      string // of a claim that was not settled
	token     int64
}

func (p *modelPush) open() bool { return p.state == ledger.DeliveryPending }

func (p *modelPush) claimed(now time.Time) bool {
	return p.open() && p.until.After(now)
}

func (p *modelPush) over(now time.Time) bool {
	return !p.expires.After(now) || !p.deadline.IsZero() && !p.deadline.After(now)
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

// first is the number of the one of a finding that goes before all others.
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

// end ends it, and lets the first of its finding go if none is due.
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
			m.end(p, ledger.DeliveryTimedOut, cmp.Or(p.lastError, "its time was over before an attempt"))
		}
	}
	return timedOut, canceled
}

// cancel ends all of them before it lets others go.
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
		case p.state == ledger.DeliverySent || p.open() && (p.claimed(m.now) || p.over(m.now)) || !p.expires.After(m.now):
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

// lineUp puts all behind the first, unless they are being tried.
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
