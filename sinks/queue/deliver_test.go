package queue

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
	"tallyman/sinks"
	"tallyman/sinks/sinktest"
)

func TestSinkSuite(t *testing.T) {
	t.Parallel()
	onAll(t, func(s site) {
		sinktest.Run(s.T, func(t *testing.T) sinktest.Fixture {
			t.Helper()
			n := newNode(t, s.addr, newMemoryLedger(), func(o *Options) { o.Prefix = t.Name() + ":" })
			return sinktest.Fixture{Sink: n, Received: n.ready}
		})
	})
}

// ready are the ids of the items that anybody may take, in the order in which they are served.
func (n *node) ready(t testing.TB) []string {
	t.Helper()
	page, err := n.List(t.Context(), item.Query{State: item.Ready, Limit: item.MaxBatch})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range page.Items {
		ids = append(ids, page.Items[i].ID)
	}
	return ids
}

// about is a notice of the bin's finding, whose episode was opened in that minute.
func about(status notice.Status, bin string, minute, ordinal int) *notice.Notice {
	opened := time.Date(2026, 6, 1, 8, minute, 0, 0, time.UTC)
	episode, key := strconv.FormatInt(opened.UnixMicro(), 10), `["`+bin+`"]`
	return &notice.Notice{
		ID:   notice.ID("empty-bin", "119240", key, episode, status, ordinal),
		Type: "REP_NOTICE", TypeID: 1, Warehouse: "119240", Rule: "empty-bin", Scope: "119240", Key: key, Episode: episode,
		Status: status, Priority: 3, Modal: "silent", Title: "Bin " + bin, Count: 1,
		Data:      []notice.Field{{Name: "bin", Value: bin}, {Name: "note", Value: "<&>"}},
		CreatedAt: opened, ExpiresAt: opened.Add(time.Hour),
	}
}

func fires(bin string, minute, ordinal int) *notice.Notice {
	return about(notice.Firing, bin, minute, ordinal)
}

func resolves(bin string, minute int) *notice.Notice { return about(notice.Resolved, bin, minute, 0) }

// mustTake delivers notices, whose numbers say nothing here.
func (n *node) mustTake(t testing.TB, notices ...*notice.Notice) {
	t.Helper()
	batch := make([]delivery.Delivery, len(notices))
	for i := range notices {
		batch[i] = delivery.Delivery{Seq: int64(i + 1), Notice: notices[i]}
	}
	receipts, err := n.Deliver(t.Context(), "", batch)
	if err != nil || len(receipts) != len(batch) {
		t.Fatal(receipts, err)
	}
}

func inOrder[T comparable](t testing.TB, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestANoticeBecomesAnItem(t *testing.T) {
	t.Parallel()
	onAll(t, func(s site) {
		n := newNode(t, s.addr, newMemoryLedger())
		low, urgent := fires("A-01", 0, 0), fires("B-01", 0, 0)
		urgent.Priority = 5
		n.mustTake(t, low, urgent)
		inOrder(t, "ready", n.ready(t), urgent.ID, low.ID)
		one, err := n.Get(t.Context(), false, nil, low.ID)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(low)
		if err != nil {
			t.Fatal(err)
		}
		var got, as any
		if err := cmp.Or(json.Unmarshal(one.Item.Payload, &got), json.Unmarshal(want, &as)); err != nil {
			t.Fatal(err)
		}
		if text := string(one.Item.Payload); !reflect.DeepEqual(got, as) || !strings.Contains(text, `"note":"<&>"`) || !strings.Contains(text, `"episode":"1780300800000000"`) {
			t.Errorf("payload %s", text)
		}
		if !one.Item.Created.Equal(low.CreatedAt) || one.Trace[0].By != "rule:empty-bin" {
			t.Errorf("%+v, pushed by %q", one.Item, one.Trace[0].By)
		}

		// A reminder, and a rise of priority, are of the same work.
		n.mustTake(t, fires("A-01", 0, 1))
		inOrder(t, "ready after a reminder", n.ready(t), urgent.ID, low.ID)
		done := n.mustLease(t, "w1", 2)
		n.mustDo(t, item.Op{Kind: item.Ack, ID: low.ID, Attempt: done[1].Attempt}, item.OK)
		n.mustTake(t, low, fires("A-01", 0, 2))
		inOrder(t, "ready after the work was done", n.ready(t), fires("A-01", 0, 2).ID)
	})
}

func TestAResolutionTakesBack(t *testing.T) {
	t.Parallel()
	onAll(t, func(s site) {
		n := newNode(t, s.addr, newMemoryLedger())
		a, b, c := fires("A", 0, 0), fires("B", 0, 0), fires("C", 0, 0)
		c.Priority = 5
		n.mustTake(t, a, b, c)
		leased := n.mustLease(t, "w1", 1)[0]
		n.mustTake(t, resolves("A", 0), resolves("C", 0), resolves("D", 0))
		inOrder(t, "ready", n.ready(t), b.ID)
		n.mustDo(t, item.Op{Kind: item.Ack, ID: leased.ID, Attempt: leased.Attempt}, item.OK)
		got, err := n.Get(t.Context(), false, nil, a.ID)
		if err != nil {
			t.Fatal(err)
		}
		if last := got.Trace[len(got.Trace)-1]; got.Item.State != item.Removed || last.Note != "resolved" || last.By != "rule:empty-bin" {
			t.Errorf("%s, %+v", got.Item.State, last)
		}

		// All in one batch, and all again: the finding came and went and came.
		again := fires("A", 10, 0)
		for range 2 {
			n.mustTake(t, a, resolves("A", 0), again)
			inOrder(t, "ready after all", n.ready(t), b.ID, again.ID)
		}
		// A later episode of the finding removes the item of an earlier one, even if that item is put off.
		n.mustDo(t, item.Op{Kind: item.Suspend, ID: b.ID}, item.OK)
		n.mustTake(t, fires("B", 20, 0), resolves("B", 20))
		n.mustDo(t, item.Op{Kind: item.Finish, ID: b.ID}, item.NotFound)
		inOrder(t, "ready in the end", n.ready(t), again.ID)
	})
}

// Digests of a rule have one key, but each stands for other findings.
func TestEachDigestIsWork(t *testing.T) {
	t.Parallel()
	onAll(t, func(s site) {
		n := newNode(t, s.addr, newMemoryLedger())
		digest := func(status notice.Status, minute int) *notice.Notice {
			d := about(status, "digest", minute, 0)
			d.ID = notice.DigestID(d.Rule, d.Scope, d.Key, d.Episode, status)
			return d
		}
		first, second := digest(notice.Firing, 0), digest(notice.Firing, 5)
		n.mustTake(t, first, second, first)
		inOrder(t, "ready", n.ready(t), first.ID, second.ID)
		n.mustTake(t, digest(notice.Resolved, 5))
		inOrder(t, "after a resolution", n.ready(t), first.ID)
	})
}

// A notice of a business system belongs to no finding. For a mixed batch, the trace does not name who pushed an item.
func TestSentNotices(t *testing.T) {
	t.Parallel()
	addr := testenv.Redis(t).Addr
	n := newNode(t, addr, newMemoryLedger())
	sent := []*notice.Notice{about(notice.Sent, "A", 0, 0), about(notice.Sent, "A", 0, 1), fires("A", 0, 0)}
	for _, one := range sent[:2] {
		one.Rule, one.Scope, one.Key = "", "", ""
	}
	n.mustTake(t, sent...)
	inOrder(t, "ready", n.ready(t), sent[0].ID, sent[1].ID, sent[2].ID)
	for _, one := range sent {
		got, err := n.Get(t.Context(), false, nil, one.ID)
		if err != nil || got.Trace[0].By != "" {
			t.Errorf("%v, by %q", err, got.Trace[0].By)
		}
	}
}

func TestNoticesThatAreTooLong(t *testing.T) {
	t.Parallel()
	long := fires("A", 0, 0)
	long.Body = strings.Repeat("\"é", item.MaxPayload/3)
	payload, err := newPayload(long)
	var form struct{ Title, Body string }
	if err := cmp.Or(err, json.Unmarshal(payload, &form)); err != nil {
		t.Fatal(err)
	}
	if len(payload) > item.MaxPayload || len(payload) < item.MaxPayload/2 || form.Title != long.Title || !strings.HasSuffix(form.Body, "…") {
		t.Errorf("%d bytes, %q … %q", len(payload), form.Title, form.Body[len(form.Body)-9:])
	}
	long.Body, long.Key = "", `["`+strings.Repeat("k", item.MaxKey)+`"]`
	other := *long
	other.Key = `["` + strings.Repeat("k", item.MaxKey+1) + `"]`
	if one := subject(long); len(one) > item.MaxKey || one != subject(long) || one == subject(&other) || !strings.HasPrefix(one, "empty-bin ") {
		t.Errorf("subjects %q and %q", one, subject(&other))
	}

	// Nothing but the words can be cut.
	long.Data = []notice.Field{{Name: "bin", Value: strings.Repeat("b", item.MaxPayload)}}
	n := newNode(t, testenv.Redis(t).Addr, newMemoryLedger())
	_, err = n.Deliver(t.Context(), "", []delivery.Delivery{{Seq: 1, Notice: fires("B", 0, 0)}, {Seq: 2, Notice: long}})
	refused, ok := errors.AsType[*sinks.RefusedError](err)
	if !ok || !slices.Equal(refused.Seqs, []int64{2}) || !strings.Contains(err.Error(), "an item may have at most 65536") {
		t.Error(err)
	}
	inOrder(t, "ready", n.ready(t))
}

// A warehouse whose clock is ahead makes no items of the future.
func TestItemsAreNotOfTheFuture(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 8, 0, 30, 0, time.UTC)
	for minute, want := range map[int]time.Time{0: now.Truncate(time.Minute), 1: now} {
		if it, err := newItem(fires("A", minute, 0), now); err != nil || !it.Created.Equal(want) {
			t.Errorf("%v, %v", it.Created, err)
		}
	}
}

// Without a ledger, the queue does not know which items a resolution removes.
func TestAResolutionNeedsTheLedger(t *testing.T) {
	t.Parallel()
	n := newNode(t, testenv.Redis(t).Addr, nil)
	n.mustTake(t, fires("A", 0, 0))
	if _, err := n.Deliver(t.Context(), "", []delivery.Delivery{{Seq: 1, Notice: resolves("A", 0)}}); err == nil {
		t.Error("it was taken")
	}
	inOrder(t, "ready", n.ready(t), fires("A", 0, 0).ID)
}

// While Redis or the ledger is away, a delivery accepts nothing. When it is repeated afterwards, it accepts everything.
func TestDeliveriesWaitForRedisAndLedger(t *testing.T) {
	t.Parallel()
	ledger := newMemoryLedger()
	n := newNode(t, testenv.Redis(t).Addr, ledger)
	n.mustTake(t, fires("A", 0, 0))
	down := errors.New("down")
	for _, batch := range [][]delivery.Delivery{{{Seq: 1, Notice: fires("B", 0, 0)}}, {{Seq: 1, Notice: resolves("A", 0)}}} {
		ledger.fail(down)
		if _, err := n.Deliver(t.Context(), "", batch); !errors.Is(err, down) {
			t.Errorf("%v", err)
		}
		ledger.fail(nil)
		if _, err := n.Deliver(t.Context(), "", batch); err != nil {
			t.Error(err)
		}
	}
	inOrder(t, "ready", n.ready(t), fires("B", 0, 0).ID)
}
