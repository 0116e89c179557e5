package api

import (
	"testing"
	"time"

	"tallyman/internal/auth"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

// Waiting is the number of requests that wait for something new.
func (a *API) Waiting() int {
	a.waiters.mu.Lock()
	defer a.waiters.mu.Unlock()
	return len(a.waiters.cancel)
}

// Streams is the number of open streams.
func (a *API) Streams() int { return a.streams.Open() }

// Live is the number of streams that have caught up.
func (a *API) Live() int { return a.feeds.live() }

// Patterns are the routes of an API as they were registered.
func Patterns(deps Deps, rooms ...Room) []string {
	routes := newRouter()
	(&API{deps: deps, log: deps.Logger, waiters: &Waiters{}, rooms: rooms}).register(routes)
	return routes.patterns
}

// NegotiateHeader is negotiateHeader.
func NegotiateHeader(accept string) (string, bool) {
	m, ok := negotiateHeader(accept)
	return string(m), ok
}

// anyone is who may poll everything.
var anyone = auth.Identity{Access: auth.Roles(), Warehouses: []string{auth.AllWarehouses}}

// ParsePoll is parsePoll.
func ParsePoll(raw string) (page.Query, time.Duration, *wire.Problem) {
	p, prob := parsePoll(&anyone, raw)
	return p.Query, p.wait, prob
}

// TagOf is the tag of a page of version v that answers the query in JSON.
func TagOf(t *testing.T, raw string) string {
	t.Helper()
	p, prob := parsePoll(&anyone, raw)
	if prob != nil {
		t.Fatal(prob)
	}
	return tagOf("v", identify(&p.Query, MediaJSON, ""), 0)
}

// Aging is an aging of numbers.
type Aging struct{ *aging[int, int] }

// NewAging is newAging.
func NewAging(most int, life time.Duration) Aging { return Aging{newAging[int, int](most, life)} }

// Get is get.
func (a Aging) Get(now time.Time, k int) (int, bool) { return a.get(now, k) }

// Put is put.
func (a Aging) Put(now time.Time, k, v int) { a.put(now, k, v) }

// Len is how many entries there are.
func (a Aging) Len() int { return len(a.young) + len(a.old) }

// SetBounds has connections live by other bounds than the default ones.
func (a *API) SetBounds(header, read, write, idle time.Duration) {
	a.bounds.header, a.bounds.read, a.bounds.write, a.bounds.idle = header, read, write, idle
}

// Drain ends all streams, as the end of the node does.
func (a *API) Drain() { a.streams.Drain() }
