package api_test

import (
	"strings"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

const noticePath = "/api/v1/notices/"

// tracedNotice puts a notice into the ledger with all that became of it, and returns it.
func tracedNotice(t *testing.T, b *bundle) *notice.Notice {
	t.Helper()
	n := bin().Notice
	again := *n
	again.ID, again.CreatedAt = "n_again", n.CreatedAt.Add(4*time.Hour)
	d := b.deliveries
	d.traced = []ledger.NoticeTrace{{Notice: n}}
	d.found.Notices = []*notice.Notice{&again, n}
	d.run = &ledger.Run{
		Rule: n.Rule, Scope: n.Scope, Due: n.CreatedAt.Add(-time.Second), Started: n.CreatedAt, Duration: 20 * time.Millisecond, Node: "node-1",
		Outcome: ledger.OutcomeDegraded, Rows: 7, Matched: 2, Errored: 1, Notices: 1, Firing: 2, Samples: []string{"row 3: qty is no number"},
	}
	d.marks = []ledger.Mark{
		{Notice: n.ID, Warehouse: "119240", User: "user:1", Kind: ledger.MarkRead, At: n.CreatedAt.Add(time.Minute)},
		{Notice: n.ID, Warehouse: "119240", User: "user:1", Kind: ledger.MarkAcked, At: n.CreatedAt.Add(2 * time.Minute)},
	}
	inQueue := *d.list[1]
	inQueue.Seq, inQueue.Lane, inQueue.Recipients = 7, ledger.Lane{Sink: "replenishment"}, nil
	d.list[7] = &inQueue
	if _, err := b.queue.Push(t.Context(), false, "", []item.New{{ID: n.ID, Priority: 3, Payload: []byte(`{}`)}}); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNoticeTrace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := tracedNotice(t, b)
	golden(t, "notice_trace.json", b.get(t, noticePath+n.ID).body)
	golden(t, "notice_trace.xml", b.get(t, noticePath+n.ID, "Accept", "application/xml").body)
	if q := b.deliveries.sought[0]; q.Rule != n.Rule || *q.Scope != n.Scope || q.Finding != n.Key || q.Episode != n.Episode || q.Warehouses != nil {
		t.Errorf("its episode was looked for by %+v", q)
	}
	for _, id := range []string{"n_none", "a%20b"} {
		if p := b.get(t, noticePath+id).asProblem(t); p.Code != "notice_not_found" {
			t.Errorf("%s: %+v", id, p)
		}
	}
}

// A part that does not exist or cannot be read is left out of a trace. The other parts are shown.
func TestNoticeTraceWithGaps(t *testing.T) {
	t.Parallel()
	b := setup(t)
	n := tracedNotice(t, b)
	check := func(what string, want ...string) {
		t.Helper()
		got := b.get(t, noticePath+n.ID)
		for _, w := range want {
			if !strings.Contains(got.body, w) {
				t.Errorf("%s: no %s in %d %s", what, w, got.status, got.body)
			}
		}
		if run := strings.Contains(got.body, `"run":`); run != (b.deliveries.run != nil && n.Status != notice.Sent) {
			t.Errorf("%s: %s", what, got.body)
		}
	}
	b.deliveries.marks, b.deliveries.run = nil, nil
	check("nobody has read it, and its run was pruned", `"marks":[]`, `"read":false,"acked":false`, `"items":[{"delivery":7,"queue":"replenishment","id":"n_abc","state":"ready"}]`)
	b.queue.fail(errBroken)
	check("Redis is away", `"items":[{"delivery":7,"queue":"replenishment","id":"n_abc"}]`)
	b.queue.fail(nil)
	b.queue.empty()
	check("the queue has no such item", `"items":[]`)
	if _, err := b.queue.Push(t.Context(), false, "", []item.New{{ID: n.ID, Priority: 3, Payload: []byte(`{}`)}}); err != nil {
		t.Fatal(err)
	}
	b.deliveries.list[7].State = ledger.DeliveryPending
	check("it is not in the queue yet", `"items":[]`)
	b.deliveries.list[7].State = ledger.DeliverySent
	n.Status = notice.Resolved
	check("it only took back an item", `"items":[]`, `"episodeNotices":[{"id":"n_again"`)
	b.deliveries.run = &ledger.Run{Rule: n.Rule, Scope: n.Scope, Started: n.CreatedAt}
	n.Status = notice.Sent
	check("a business system sent it", `"episodeNotices":[]`)
	b.deliveries.err = errBroken
	if p := b.get(t, noticePath+n.ID).asProblem(t); p.Code != "ledger_unavailable" {
		t.Errorf("%+v", p)
	}
}

// A caller for some warehouses sees only the notices of these warehouses, and of a run only what is not data.
func TestTracesStayInOnesOwnWarehouses(t *testing.T) {
	t.Parallel()
	b := setup(t, asPeople)
	n := tracedNotice(t, b)
	n.Scope, b.deliveries.run.Scope = "all", "all"
	got := b.get(t, noticePath+n.ID, "Authorization", "Bearer site")
	if got.status != 200 || strings.Contains(got.body, "qty is no number") || !strings.Contains(got.body, `"rows":7`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if q := b.deliveries.sought[0]; len(q.Warehouses) != 1 || q.Warehouses[0] != "119240" {
		t.Errorf("the episode was looked for in %q", q.Warehouses)
	}
	if got := b.get(t, noticePath+n.ID, "Authorization", "Bearer admin"); !strings.Contains(got.body, "qty is no number") {
		t.Errorf("%d %s", got.status, got.body)
	}
	n.Warehouse = "W1"
	if p := b.get(t, noticePath+n.ID, "Authorization", "Bearer site").asProblem(t); p.Code != "notice_not_found" {
		t.Errorf("%+v", p)
	}
}
