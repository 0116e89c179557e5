package api_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"tallyman/internal/api/view"
	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

// fakeDeliveries keeps the contract of ledger.DeliveryOperations, Trace and MarksOf in memory.
type fakeDeliveries struct {
	mu     sync.Mutex
	list   map[int64]*ledger.DeliveryRecord
	traced []ledger.NoticeTrace
	marks  []ledger.Mark
	asked  []ledger.DeliveryFilter
	found  ledger.NoticePage
	sought []ledger.NoticeFilter
	finds  []ledger.TextFilter
	opened []ledger.FoundFinding
	items  []item.Record
	cut    bool // there is more than was found
	run    *ledger.Run
	err    error

	refuses bool // no delivery can be tried again
}

// someDeliveries are one of each state, and one to the inbox.
func someDeliveries() *fakeDeliveries {
	at := time.Date(2026, 6, 1, 0, 10, 0, 0, time.UTC)
	f := &fakeDeliveries{list: map[int64]*ledger.DeliveryRecord{}}
	add := func(sink string, state ledger.DeliveryState, strategy *delivery.Strategy, change func(*ledger.DeliveryRecord)) {
		d := &ledger.DeliveryRecord{
			DeliveryTrace: ledger.DeliveryTrace{Seq: int64(len(f.list) + 1), Lane: ledger.Lane{Sink: sink}, State: state},
			Notice:        "n_abc", Type: "REP_NOTICE", Rule: "negative-bin-stock", Status: "firing", Where: "119240", Title: "Bin A-01 is at -3",
			Created: at, Expires: at.Add(24 * time.Hour), Strategy: strategy,
		}
		change(d)
		f.list[d.Seq] = d
	}
	add("inbox", ledger.DeliverySent, nil, func(d *ledger.DeliveryRecord) {
		d.Attempts, d.SentAt, d.Recipients, d.Lane.Warehouse = 1, at.Add(time.Second), []string{"role:keeper", "user:1"}, "119240"
	})
	add("gateway", ledger.DeliveryPending, &delivery.Strategy{Kind: delivery.Timed, Within: 30 * time.Minute}, func(d *ledger.DeliveryRecord) {
		d.Attempts, d.LastError, d.Next, d.Deadline, d.Node = 2, "503 Service Unavailable: try later", at.Add(time.Minute), at.Add(30*time.Minute), "node-1"
		d.Tried = []delivery.Attempt{
			{At: at.Add(20 * time.Second), Took: 1234567 * time.Microsecond, Status: 503, Error: d.LastError},
			{At: at, Took: 10 * time.Second, Error: "gateway did not answer: no answer within 10s"},
		}
	})
	add("sms", ledger.DeliveryPending, &delivery.Strategy{Kind: delivery.Delayed, Delay: 10 * time.Minute, Retry: 2, Unless: delivery.UnlessRead}, func(d *ledger.DeliveryRecord) {
		d.Next = at.Add(10 * time.Minute)
	})
	add("sms", ledger.DeliveryFailed, &delivery.Strategy{Kind: delivery.Immediate}, func(d *ledger.DeliveryRecord) {
		d.Attempts, d.LastError, d.Notice, d.Rule, d.Status, d.Where = 1, "400 Bad Request: no such number", "n_other", "", "sent", "119241"
	})
	add("sms", ledger.DeliveryCanceled, &delivery.Strategy{Kind: delivery.Delayed, At: at.Add(time.Hour)}, func(d *ledger.DeliveryRecord) {
		d.LastError = "the notice was read"
	})
	add("gateway", ledger.DeliveryPending, &delivery.Strategy{Kind: delivery.Important}, func(d *ledger.DeliveryRecord) {
		d.Behind, d.InFront, d.Status = true, 2, "resolved"
	})
	return f
}

func (f *fakeDeliveries) ListDeliveries(_ context.Context, q ledger.DeliveryFilter) ([]ledger.DeliveryRecord, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, q)
	var found []*ledger.DeliveryRecord
	for _, d := range f.list {
		if matches(q.Sink, d.Lane.Sink) && matches(q.Warehouse, d.Where) && matches(q.Type, d.Type) && matches(q.Rule, d.Rule) && matches(q.Notice, d.Notice) &&
			(len(q.States) == 0 || slices.Contains(q.States, d.State)) && (q.Before == 0 || d.Seq < q.Before) && d.Seq > q.After &&
			(!q.Held || d.Behind || d.HeldBy != "") {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b *ledger.DeliveryRecord) int { return cmp.Compare(b.Seq, a.Seq) })
	if q.Oldest {
		slices.Reverse(found)
	}
	var out []ledger.DeliveryRecord
	for _, d := range found[:min(len(found), q.Limit)] {
		of := *d
		of.Tried = nil
		out = append(out, of)
	}
	return out, f.err
}

func (f *fakeDeliveries) Delivery(_ context.Context, seq int64) (ledger.DeliveryRecord, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d, ok := f.list[seq]; ok {
		return *d, f.err
	}
	return ledger.DeliveryRecord{}, cmp.Or(f.err, ledger.ErrNotFound)
}

func (f *fakeDeliveries) RetryDeliveries(_ context.Context, _ ledger.Author, seqs []int64) (changed []int64, lanes []ledger.Lane, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, seq := range seqs {
		d, ok := f.list[seq]
		if !ok || f.refuses || d.State == ledger.DeliverySent || d.State == ledger.DeliveryPending && (d.Strategy == nil || d.Node != "") || d.Expires.Before(f.list[1].Created) {
			continue
		}
		d.State = ledger.DeliveryPending
		changed = append(changed, seq)
		if !slices.Contains(lanes, d.Lane) {
			lanes = append(lanes, d.Lane)
		}
	}
	return changed, lanes, f.err
}

func (f *fakeDeliveries) CancelDeliveries(_ context.Context, _ ledger.Author, seqs []int64, reason string) (changed []int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, seq := range seqs {
		if d, ok := f.list[seq]; ok && d.State == ledger.DeliveryPending {
			d.State, d.LastError, d.Next = ledger.DeliveryCanceled, reason, time.Time{}
			changed = append(changed, seq)
		}
	}
	return changed, f.err
}

// DeliveryCauses knows one cause, and the warehouse that it was asked for.
func (f *fakeDeliveries) DeliveryCauses(_ context.Context, warehouse string) ([]ledger.DeliveryCause, error) {
	if f.err != nil {
		return nil, f.err
	}
	return []ledger.DeliveryCause{
		{Sink: "gateway", State: ledger.DeliveryTimedOut, Cause: "503", Count: 12, Last: 9, Error: "503 of " + warehouse},
		{Sink: "sms", State: ledger.DeliveryFailed, Cause: "refused:400", Count: 1, Last: 4, Error: "400 Bad Request: no such number"},
	}, nil
}

func (f *fakeDeliveries) OldestPending(context.Context) (map[string]time.Time, error) {
	return map[string]time.Time{"gateway": bin().CreatedAt}, f.err
}

func (f *fakeDeliveries) OldestFailed(context.Context) (map[string]time.Time, error) {
	return map[string]time.Time{"gateway": bin().CreatedAt.Add(-time.Hour)}, f.err
}

func (f *fakeDeliveries) CountDeliveries(context.Context) (map[string]map[ledger.DeliveryState]int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	counts := map[string]map[ledger.DeliveryState]int64{}
	for _, d := range f.list {
		if counts[d.Lane.Sink] == nil {
			counts[d.Lane.Sink] = map[ledger.DeliveryState]int64{}
		}
		counts[d.Lane.Sink][d.State]++
	}
	return counts, f.err
}

func (f *fakeDeliveries) Trace(_ context.Context, _, _ string, _, ids []string, _ int) ([]ledger.NoticeTrace, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []ledger.NoticeTrace
	for _, t := range f.traced {
		if slices.Contains(ids, t.Notice.ID) {
			out = append(out, t)
		}
	}
	return out, f.err
}

func (f *fakeDeliveries) MarksOf(context.Context, string) ([]ledger.Mark, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.marks, f.err
}

func (f *fakeDeliveries) SearchNotices(_ context.Context, q ledger.NoticeFilter) (ledger.NoticePage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sought = append(f.sought, q)
	found := f.found
	found.Notices = slices.Clone(found.Notices)
	return found, f.err
}

func (f *fakeDeliveries) FindFindings(_ context.Context, q ledger.TextFilter) ([]ledger.FoundFinding, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q.Until = time.Time{}
	f.finds = append(f.finds, q)
	return slices.Clone(f.opened), !f.cut, f.err
}

func (f *fakeDeliveries) FindItems(_ context.Context, _ string, q ledger.TextFilter) ([]item.Record, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.items[:min(len(f.items), q.Limit)]), !f.cut, f.err
}

func (f *fakeDeliveries) RunAt(_ context.Context, rule, scope string, at time.Time) (ledger.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.run; r != nil && r.Rule == rule && r.Scope == scope && !at.Before(r.Started) {
		return *r, f.err
	}
	return ledger.Run{}, cmp.Or(f.err, ledger.ErrNotFound)
}

// someSinks are the inbox and two push channels. One of the channels has asked for a pause.
func someSinks() map[string]view.ServedSink {
	at := time.Date(2026, 6, 1, 0, 10, 0, 0, time.UTC)
	channel := view.PushChannel{Timeout: 10 * time.Second, Concurrency: 8, Rate: "none", Failures: 5, Open: 30 * time.Second, BatchMax: 1}
	good, bad := channel, channel
	good.Rate, good.BatchMax, good.BatchWait = "50/s", 100, time.Second
	good.Status = func() view.PushStatus {
		return view.PushStatus{Breaker: "closed", Since: at, InFlight: 2, Waiting: 3, LastSent: at}
	}
	bad.Status = func() view.PushStatus {
		return view.PushStatus{
			Breaker: "open", Since: at, Until: at.Add(30 * time.Second), Failures: 5, HeldUntil: at.Add(time.Minute), LastError: "dial tcp: refused", LastErrorAt: at,
		}
	}
	return map[string]view.ServedSink{
		"inbox": {Type: "inbox", Ready: func() error { return nil }}, "gateway": {Type: "webhook", Push: &good}, "sms": {Type: "chat", Push: &bad},
	}
}
