package inbox

import (
	"maps"
	"slices"

	"tallyman/sinks/inbox/page"
)

// reason says why a cursor does not hold for a query; "" = it does.
func (m *model) reason(c modelCursor, q page.Query) page.ResetReason {
	switch {
	case !slices.Equal(c.query.Subscribers, q.Subscribers):
		return page.ResetSubscribersChanged
	case c.query.Unread != q.Unread:
		return page.ResetFilterChanged
	case c.epoch != m.n.ledger.epochs():
		return page.ResetIndexRebuilt
	}
	for _, s := range q.Subscribers {
		if m.inbox(s).removed > max(c.score, c.removed[s]) {
			return page.ResetTrimmed
		}
	}
	return ""
}

// missed counts the notices that the reader of a cursor cannot get any more; -1 means unknown.
func (m *model) missed(c modelCursor, q page.Query, reason page.ResetReason) int {
	if reason == page.ResetSubscribersChanged || reason == page.ResetFilterChanged || q.Unread {
		return -1
	}
	begins := m.clock.now().Add(-window).UnixMicro()
	gone, there := map[int64]bool{}, map[int64]bool{}
	for _, s := range q.Subscribers {
		for _, score := range m.inbox(s).gone {
			if score > max(c.score, c.removed[s]) {
				gone[score] = true
			}
		}
		for _, n := range m.inbox(s).notices {
			switch {
			case n.hidden || n.score <= c.score:
			case n.score < begins:
				gone[n.score] = true
			default:
				there[n.score] = true
			}
		}
	}
	maps.DeleteFunc(gone, func(score int64, _ bool) bool { return there[score] })
	return len(gone)
}
