package api_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules/catalog"
	"tallyman/sinks/inbox/page"
)

// fakeInbox answers with the last page that a test gave it. A new page wakes waiting polls.
type fakeInbox struct {
	mu      sync.Mutex
	page    page.Page
	err     error
	changed chan struct{}
	waiting chan struct{} // gets a value for each Wait that began
	queries []page.Query
	news    map[int]func() // of those who watch
	watches int
}

func newFakeInbox(pg page.Page) *fakeInbox {
	return &fakeInbox{page: pg, changed: make(chan struct{}), waiting: make(chan struct{}, 1000)}
}

func (f *fakeInbox) put(pg page.Page) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.page = pg
	close(f.changed)
	for _, news := range f.news {
		news()
	}
	f.changed = make(chan struct{})
}

// awaitWaiters returns after that many calls of Wait began.
func (f *fakeInbox) awaitWaiters(n int) {
	for range n {
		<-f.waiting
	}
}

func (f *fakeInbox) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// asked returns the queries of the polls so far and forgets them.
func (f *fakeInbox) asked() []page.Query {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queries
	f.queries = nil
	return q
}

func (f *fakeInbox) Version(context.Context, page.Query) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.page.Version, f.err
}

func (f *fakeInbox) Poll(_ context.Context, q page.Query) (page.Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queries = append(f.queries, q)
	return f.page, f.err
}

func (f *fakeInbox) Wait(ctx context.Context, _ page.Query, version string) error {
	f.waiting <- struct{}{}
	for {
		f.mu.Lock()
		now, changed := f.page.Version, f.changed
		f.mu.Unlock()
		if now != version {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Watch calls news with each new page.
func (f *fakeInbox) Watch(_ string, _ []string, news func()) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watches++
	id := f.watches
	if f.news == nil {
		f.news = map[int]func(){}
	}
	f.news[id] = news
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.news, id)
	}
}

// fakeCatalogue keeps the contract of ledger.Catalogue in memory.
type fakeCatalogue struct {
	mu    sync.Mutex
	types catalog.Catalog
	subs  map[ledger.Subscription]bool
	err   error

	unrecorded error         // of the record of the next change
	who        ledger.Author // of the last one
}

func newFakeCatalogue() *fakeCatalogue {
	return &fakeCatalogue{
		types: catalog.Catalog{"REP_NOTICE": {
			Code: "REP_NOTICE", ID: 124719, Name: "Replenishment notice", Names: map[string]string{"zh": "补货通知"}, Category: "SUBSCRIBE_TYP",
			Retention: 72 * time.Hour,
			Fields:    map[string]catalog.Field{"bin": {Type: catalog.String, Required: true}, "qty": {Type: catalog.Decimal}},
		}},
		subs: map[ledger.Subscription]bool{},
	}
}

func (f *fakeCatalogue) Types(context.Context) (catalog.Catalog, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.types), f.err
}

// TypesVersion implements ledger.TypeReader.
func (f *fakeCatalogue) TypesVersion(context.Context) (int64, error) { return 1, nil }

func (f *fakeCatalogue) PutType(_ context.Context, who ledger.Author, t catalog.Type) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unrecorded != nil {
		return f.unrecorded
	}
	f.who = who
	for _, other := range f.types {
		if other.ID == t.ID && other.Code != t.Code {
			return ledger.ErrExists
		}
	}
	f.types[t.Code] = t
	return nil
}

func (f *fakeCatalogue) DeleteType(_ context.Context, _ ledger.Author, code string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.types[code]; !ok {
		return ledger.ErrNotFound
	}
	delete(f.types, code)
	return nil
}

func (f *fakeCatalogue) Subscriptions(_ context.Context, filter ledger.SubscriptionFilter) ([]ledger.Subscription, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []ledger.Subscription
	for s := range f.subs {
		if matches(filter.Type, s.Type) && matches(filter.Warehouse, s.Warehouse) && matches(filter.Subscriber, s.Subscriber) &&
			(filter.After == nil || order(*filter.After, s) < 0) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, order)
	if filter.Limit > 0 {
		out = out[:min(len(out), filter.Limit)]
	}
	return out, f.err
}

func matches(filter, value string) bool { return filter == "" || filter == value }

func order(a, b ledger.Subscription) int {
	return slices.Compare([]string{a.Type, a.Warehouse, a.Subscriber}, []string{b.Type, b.Warehouse, b.Subscriber})
}

func (f *fakeCatalogue) AddSubscriptions(_ context.Context, _ ledger.Author, subs []ledger.Subscription) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	added := 0
	for _, s := range subs {
		if !f.subs[s] {
			f.subs[s] = true
			added++
		}
	}
	return added, f.err
}

func (f *fakeCatalogue) RemoveSubscription(_ context.Context, _ ledger.Author, s ledger.Subscription) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.subs[s] {
		return ledger.ErrNotFound
	}
	delete(f.subs, s)
	return nil
}

// fakeOrigins are of a site whose subscriptions come from no source.
type fakeOrigins struct{}

func (fakeOrigins) SubscriptionOrigins(context.Context) ([]ledger.SubscriptionOrigin, error) {
	return nil, nil
}

func (fakeOrigins) ConfirmSubscriptions(context.Context, ledger.Author, string, string) (ledger.OriginChange, error) {
	return ledger.OriginChange{}, ledger.ErrOtherList
}

func (fakeOrigins) ReleaseSubscriptions(context.Context, ledger.Author, string) (int, error) {
	return 0, ledger.ErrNotFound
}

// fakeScopes are of a site whose rule files have all scopes.
type fakeScopes struct{}

func (fakeScopes) Origins(context.Context) ([]ledger.ScopeOrigin, error) { return nil, nil }

func (fakeScopes) Source(string) string { return "" }

func (fakeScopes) ConfirmScopes(context.Context, ledger.Author, string, string) (ledger.ScopeChange, error) {
	return ledger.ScopeChange{}, ledger.ErrOtherList
}

func (fakeScopes) ForgetScopes(context.Context, ledger.Author, string) error {
	return ledger.ErrNotFound
}

var errBroken = errors.New("dial tcp 10.0.0.7:5432: password=hunter2 refused")
