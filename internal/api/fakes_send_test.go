package api_test

import (
	"context"
	"maps"
	"slices"
	"sync"

	"tallyman/internal/api/send"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/rules/deliver"
)

// fakeSends implements the contract of ledger.Sends in memory. It has no subscribers, so only named recipients get a
// notice in the inbox.
type fakeSends struct {
	mu    sync.Mutex
	sent  map[string]ledger.NewNotice
	order []string
	woken []ledger.Lane
	err   error
}

func newFakeSends() *fakeSends { return &fakeSends{sent: map[string]ledger.NewNotice{}} }

func (f *fakeSends) send(_ context.Context, notices []ledger.NewNotice) (ledger.SentNotices, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return ledger.SentNotices{}, f.err
	}
	other := false
	for _, n := range notices {
		was, existing := f.sent[n.Notice.ID]
		other = other || existing && was.Notice.Episode != n.Notice.Episode
	}
	var out ledger.SentNotices
	lanes := map[ledger.Lane]bool{}
	for _, n := range notices {
		was, existing := f.sent[n.Notice.ID]
		s := ledger.SentNotice{ID: n.Notice.ID, Existing: existing, Other: existing && was.Notice.Episode != n.Notice.Episode}
		for _, t := range n.Sinks {
			if t.Inbox && len(t.Recipients) == 0 {
				s.Unsubscribed++
				continue
			}
			s.Deliveries++
			if !existing {
				lanes[ledger.Lane{Sink: t.Sink}] = true
			}
		}
		if !existing && !other {
			f.sent[n.Notice.ID] = n
			f.order = append(f.order, n.Notice.ID)
		}
		out.List = append(out.List, s)
	}
	out.Lanes = slices.Collect(maps.Keys(lanes))
	return out, nil
}

func (f *fakeSends) told(_ context.Context, notices []ledger.NewNotice) (ledger.SentNotices, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out ledger.SentNotices
	for _, n := range notices {
		was, existing := f.sent[n.Notice.ID]
		out.List = append(out.List, ledger.SentNotice{
			ID: n.Notice.ID, Existing: existing, Other: existing && was.Notice.Episode != n.Notice.Episode, Deliveries: len(n.Sinks),
		})
	}
	return out, f.err
}

func (f *fakeSends) wake(lanes []ledger.Lane) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.woken = append(f.woken, lanes...)
}

// all returns the sent notices in order.
func (f *fakeSends) all() []ledger.NewNotice {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []ledger.NewNotice
	for _, id := range f.order {
		out = append(out, f.sent[id])
	}
	return out
}

func (f *fakeSends) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.order = nil
	clear(f.sent)
}

// targets are the sinks of the tests.
var targets = map[string]send.TargetKind{
	"inbox": send.TargetInbox, "replenishment": send.TargetQueue, "gateway": send.TargetPush, "letters": send.TargetEach,
}

// siteSinks are the same, as rules and types know them.
var siteSinks = deliver.Sinks{
	Types: map[string]string{"inbox": "inbox", "replenishment": "queue", "gateway": "webhook", "letters": "mail"}, Push: []string{"webhook", "mail"},
}

// fakeMarks has one notice, in the inbox of the keepers in one warehouse.
type fakeMarks struct {
	mu    sync.Mutex
	marks []ledger.Mark
	all   []ledger.ReadAll
	err   error
}

func (f *fakeMarks) Mark(_ context.Context, m ledger.Mark) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	if m.Notice != "n_abc" || m.Warehouse != "119240" || !slices.Contains(m.As, "role:keeper") {
		return ledger.ErrNotFound
	}
	f.marks = append(f.marks, m)
	return nil
}

// fakeBook keeps the contract of ledger.Book in memory.
type fakeBook struct {
	mu      sync.Mutex
	entries map[string]delivery.Subscriber
	err     error
}

func newFakeBook() *fakeBook { return &fakeBook{entries: map[string]delivery.Subscriber{}} }

func (f *fakeBook) PutSubscriber(_ context.Context, _ ledger.Author, s delivery.Subscriber) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := ledger.CheckSubscriber(&s); err != nil {
		return false, err
	}
	_, there := f.entries[s.ID]
	f.entries[s.ID] = s
	return !there, f.err
}

func (f *fakeBook) DeleteSubscriber(_ context.Context, _ ledger.Author, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.entries[id]; !ok {
		return ledger.ErrNotFound
	}
	delete(f.entries, id)
	return nil
}

func (f *fakeBook) Subscribers(_ context.Context, ids []string) (map[string]delivery.Subscriber, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]delivery.Subscriber{}
	for _, id := range ids {
		if s, ok := f.entries[id]; ok {
			out[id] = s
		}
	}
	return out, f.err
}

func (f *fakeBook) ListSubscribers(_ context.Context, after string, limit int) ([]delivery.Subscriber, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []delivery.Subscriber
	for _, id := range slices.Sorted(maps.Keys(f.entries)) {
		if id > after && len(out) < limit {
			out = append(out, f.entries[id])
		}
	}
	return out, f.err
}
