package api

import (
	"maps"
	"net/http"
	"slices"
	"time"
)

// Waiting is the number of requests that wait for something new.
func (a *API) Waiting() int {
	a.waiters.mu.Lock()
	defer a.waiters.mu.Unlock()
	return len(a.waiters.cancel)
}

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

// SingleHeaders are the headers that may come only once.
func SingleHeaders() []string { return slices.Sorted(maps.Keys(singleHeaders)) }

// IsSingleHeader tells whether a header may come once only.
func IsSingleHeader(name string) bool { return singleHeaders[http.CanonicalHeaderKey(name)] }
