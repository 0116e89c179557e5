package sinktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/delivery"
	"tallyman/internal/notice"
	"tallyman/sinks"
)

// Lane is the lane of the suite's deliveries; for the inbox, it is the warehouse. Recipient gets all of them.
const (
	Lane      = "119240"
	Recipient = "role:keeper"
)

// Fixture is a sink under test.
type Fixture struct {
	Sink sinks.Sink
	// Received returns the ids of the notices that Recipient has got so far, in their order.
	Received func(t testing.TB) []string
}

// Run runs the suite. setup makes a sink that has received nothing.
func Run(t *testing.T, setup func(t *testing.T) Fixture) {
	t.Helper()
	for name, test := range map[string]func(t *testing.T, f Fixture){
		"receipts are in the order of the deliveries": receiptsInOrder,
		"deliveries arrive in order":                  arriveInOrder,
		"a delivery that comes again changes nothing": idempotent,
		"an old delivery among new ones":              oldAmongNew,
		"an ended context delivers nothing":           canceled,
		"all or none":                                 allOrNone,
		"nothing to deliver":                          nothing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, setup(t))
		})
	}
}

// Deliveries makes n deliveries with the numbers first, first+1 and so on. Each has its own notice.
func Deliveries(first int64, n int) []delivery.Delivery {
	out := make([]delivery.Delivery, n)
	now := time.Now().UTC().Truncate(time.Microsecond)
	for i := range out {
		seq := first + int64(i)
		key := fmt.Sprintf("[%d]", seq)
		out[i] = delivery.Delivery{Seq: seq, Recipients: []string{Recipient, "user:1"}, Notice: &notice.Notice{
			ID:   notice.ID("sinktest", Lane, key, "1", notice.Firing, 0),
			Type: "REP_NOTICE", TypeID: 124719, Warehouse: Lane, Rule: "sinktest", Scope: Lane, Key: key, Episode: "1",
			Status: notice.Firing, Priority: 3, Modal: "silent", Title: fmt.Sprintf("Bin %d is empty", seq), Count: 1,
			CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		}}
	}
	return out
}

func receiptsInOrder(t *testing.T, f Fixture) {
	t.Helper()
	batch := Deliveries(100, 20)
	receipts := deliver(t, f, batch)
	last := int64(0)
	for i, r := range receipts {
		if r.Seq != batch[i].Seq {
			t.Errorf("receipt %d is for delivery %d, want %d", i, r.Seq, batch[i].Seq)
		}
		if r.Score != 0 && r.Score <= last {
			t.Errorf("receipt %d: score %d after %d", i, r.Score, last)
		}
		last = r.Score
	}
}

func arriveInOrder(t *testing.T, f Fixture) {
	t.Helper()
	var want []string
	for i := range int64(5) {
		batch := Deliveries(10*i, 10)
		deliver(t, f, batch)
		want = append(want, ids(batch)...)
	}
	expect(t, f, want)
}

func idempotent(t *testing.T, f Fixture) {
	t.Helper()
	batch := Deliveries(1, 5)
	first := deliver(t, f, batch)
	if diff := cmp.Diff(first, deliver(t, f, batch)); diff != "" {
		t.Errorf("-first +second\n%s", diff)
	}
	expect(t, f, ids(batch))
}

func oldAmongNew(t *testing.T, f Fixture) {
	t.Helper()
	old := Deliveries(1, 2)
	first := deliver(t, f, old)
	batch := slices.Concat(Deliveries(10, 2), old, Deliveries(20, 2))
	receipts := deliver(t, f, batch)
	if diff := cmp.Diff(first, receipts[2:4]); diff != "" {
		t.Errorf("-first +second\n%s", diff)
	}
	expect(t, f, ids(slices.Concat(old, batch[:2], batch[4:])))
}

func canceled(t *testing.T, f Fixture) {
	t.Helper()
	batch := Deliveries(1, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if receipts, err := f.Sink.Deliver(ctx, Lane, batch); err == nil || receipts != nil {
		t.Errorf("%v, %v", receipts, err)
	}
	expect(t, f, nil)
	deliver(t, f, batch)
	expect(t, f, ids(batch))
}

// allOrNone sends a batch with one delivery that no sink can take, because a field value has an unknown kind. The sink
// must refuse the batch and name that delivery. Without it, the others must arrive.
func allOrNone(t *testing.T, f Fixture) {
	t.Helper()
	batch := Deliveries(1, 3)
	batch[2].Notice.Data = []notice.Field{{Name: "bin", Value: struct{}{}}}
	receipts, err := f.Sink.Deliver(t.Context(), Lane, batch)
	refused, ok := errors.AsType[*sinks.RefusedError](err)
	if !ok || !slices.Equal(refused.Seqs, []int64{3}) || receipts != nil {
		t.Errorf("%v, %v", receipts, err)
	}
	expect(t, f, nil)
	deliver(t, f, batch[:2])
	expect(t, f, ids(batch[:2]))
}

func nothing(t *testing.T, f Fixture) {
	t.Helper()
	if receipts, err := f.Sink.Deliver(t.Context(), Lane, nil); err != nil || len(receipts) != 0 {
		t.Errorf("%v, %v", receipts, err)
	}
	expect(t, f, nil)
}

func deliver(t *testing.T, f Fixture, batch []delivery.Delivery) []delivery.Receipt {
	t.Helper()
	receipts, err := f.Sink.Deliver(t.Context(), Lane, batch)
	if err != nil {
		t.Fatal(err)
	}
	if len(receipts) != len(batch) {
		t.Fatalf("%d receipts for %d deliveries", len(receipts), len(batch))
	}
	return receipts
}

func expect(t *testing.T, f Fixture, want []string) {
	t.Helper()
	got := f.Received(t)
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("received: -want +got\n%s", diff)
	}
}

func ids(batch []delivery.Delivery) []string {
	out := make([]string, len(batch))
	for i, d := range batch {
		out[i] = d.Notice.ID
	}
	return out
}
