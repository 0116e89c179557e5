package api_test

import (
	"strings"
	"testing"

	"tallyman/sinks/inbox/page"
)

// large is more than may wait for a client.
const large = 300 << 10

// A page of any size goes to a client that reads, at the start and later: what counts is what waits already.
func TestStreamsTakeLargePages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	withBody := func(n int64) page.Page {
		pg := at(n)
		other := *pg.Notices[0].Notice
		other.Body = strings.Repeat("x", large)
		pg.Notices[0].Notice = &other
		return pg
	}
	b.inbox.put(withBody(1))
	l := b.listen(t, streamPath)
	l.titles(t, 1)
	l.next(t, "unread")
	b.inbox.put(withBody(2))
	l.titles(t, 1)
	l.next(t, "unread")
	// What a read-all covers comes at one moment, and has one id.
	pg := at(3)
	pg.Notices, pg.Unread = nil, 0
	pg.Changes = make([]page.Change, large/50)
	for i := range pg.Changes {
		pg.Changes[i] = page.Change{ID: "n_abc", Kind: page.Read, Score: pg.Clock}
	}
	b.inbox.put(pg)
	for range pg.Changes {
		l.next(t, "change")
	}
	l.next(t, "unread")
}
