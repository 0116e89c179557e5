package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

var operatedTests = []testCase{
	{"deliveries are listed, the latest first, page by page, by what they are", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		elsewhere, other := newNotice("n_2"), newNotice("n_3")
		elsewhere.Warehouse, other.Type, other.Rule = "119241", "OTHER", "another-rule"
		f.commit(t, 1, to([]ledger.Target{inbox, important}, newNotice("n_1")))
		f.commit(t, 2, to([]ledger.Target{important, {Sink: "queue"}}, elsewhere, other))
		f.settle(t, f.claimPushes(t, "a", 1).List, delivery.SettleFailed, 0)
		for _, c := range []struct {
			filter ledger.DeliveryFilter
			want   []int64
		}{
			{ledger.DeliveryFilter{}, []int64{6, 5, 4, 3, 2, 1}},
			{ledger.DeliveryFilter{Limit: 2}, []int64{6, 5}},
			{ledger.DeliveryFilter{Limit: 2, Before: 5}, []int64{4, 3}},
			{ledger.DeliveryFilter{Oldest: true}, []int64{1, 2, 3, 4, 5, 6}},
			{ledger.DeliveryFilter{Oldest: true, Limit: 2, After: 2}, []int64{3, 4}},
			{ledger.DeliveryFilter{Oldest: true, Sink: gateway, After: 2}, []int64{3, 5}},
			{ledger.DeliveryFilter{Cause: ledger.CauseUnanswered}, []int64{2}},
			{ledger.DeliveryFilter{Cause: "503"}, nil},
			{ledger.DeliveryFilter{Sink: gateway}, []int64{5, 3, 2}},
			{ledger.DeliveryFilter{Sink: "nobody"}, nil},
			{ledger.DeliveryFilter{Warehouse: "119241"}, []int64{4, 3}},
			{ledger.DeliveryFilter{Warehouse: warehouse, Sink: gateway}, []int64{5, 2}},
			{ledger.DeliveryFilter{Type: "OTHER"}, []int64{6, 5}},
			{ledger.DeliveryFilter{Rule: rule, Sink: "queue"}, []int64{4}},
			{ledger.DeliveryFilter{Notice: "n_1"}, []int64{2, 1}},
			{ledger.DeliveryFilter{Notice: "n_9"}, nil},
			{ledger.DeliveryFilter{States: []ledger.DeliveryState{ledger.DeliveryFailed}}, []int64{2}},
			{ledger.DeliveryFilter{States: []ledger.DeliveryState{ledger.DeliveryFailed, ledger.DeliverySent}}, []int64{2}},
			{ledger.DeliveryFilter{States: []ledger.DeliveryState{ledger.DeliveryPending}, Sink: gateway}, []int64{5, 3}},
		} {
			if c.filter.Limit == 0 {
				c.filter.Limit = 100
			}
			list, err := f.ListDeliveries(t.Context(), c.filter)
			noError(t, err)
			var got []int64
			for i := range list {
				got = append(got, list[i].Seq)
			}
			equal(t, c.want, got)
		}
	}},
	{"deliveries that were not sent are grouped by cause, and a final refusal is a cause of its own", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		made := []delivery.Attempt{
			{Status: 503, Error: "gateway answered 503"},
			{Status: 503, Error: "gateway answered 503: try later"},
			{Status: 422, Refused: true, Error: "gateway answered 422"},
			{Error: "gateway did not answer: no answer within 10s"},
			{Error: "no route"},
			{Refused: true, Error: "no such number"},
		}
		var notices []ledger.NewNotice
		for i := range made {
			n := newNotice(fmt.Sprintf("n_%d", i+1))
			if i == 1 {
				n.Warehouse = "119241"
			}
			notices = append(notices, to([]ledger.Target{important}, n)...)
		}
		f.commit(t, 1, notices)
		claimed := f.claimPushes(t, "a", 10).List
		settled := make([]delivery.Settlement, len(claimed))
		for i, c := range claimed {
			settled[i] = delivery.Settlement{Seq: c.Seq, Token: c.Token, Kind: delivery.SettleFailed, Attempt: made[c.Seq-1]}
		}
		noError(t, f.SettlePushes(t.Context(), settled))
		cause := func(name string, count int64, last int) ledger.DeliveryCause {
			return ledger.DeliveryCause{Sink: gateway, State: ledger.DeliveryFailed, Cause: name, Count: count, Last: int64(last), Error: made[last-1].Error}
		}
		for where, want := range map[string][]ledger.DeliveryCause{
			"": {
				cause("503", 2, 2), cause("refused", 1, 6), cause("refused:422", 1, 3), cause("timeout", 1, 4), cause("unanswered", 1, 5),
			},
			"119241": {cause("503", 1, 2)},
			"none":   nil,
		} {
			got, err := f.DeliveryCauses(t.Context(), where)
			noError(t, err)
			equal(t, want, got)
			for _, c := range got {
				list, err := f.ListDeliveries(t.Context(), ledger.DeliveryFilter{Sink: c.Sink, States: []ledger.DeliveryState{c.State}, Cause: c.Cause, Warehouse: where, Limit: 10})
				noError(t, err)
				equal(t, int(c.Count), len(list))
			}
		}
	}},
	{"a delivery is read with its notice, its strategy and its state", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		n := ofKey("k", 0)
		limit := within(time.Hour)
		f.commit(t, 1, to([]ledger.Target{inbox, limit}, n))
		f.commit(t, 2, to([]ledger.Target{limit}, ofKey("k", 1)))
		want := ledger.DeliveryRecord{
			DeliveryTrace: ledger.DeliveryTrace{Seq: 1, Lane: inboxLane, Recipients: []string{"user:1"}},
			Notice:        n.ID, Type: n.Type, Rule: rule, Status: "firing", Where: warehouse, Title: n.Title, Created: n.CreatedAt, Expires: n.ExpiresAt,
		}
		f.isDelivery(t, want)
		want.DeliveryTrace = ledger.DeliveryTrace{Seq: 2, Lane: gatewayLane, Recipients: []string{"user:1"}}
		want.Strategy, want.Next, want.Deadline = limit.Strategy, start, start.Add(time.Hour)
		f.isDelivery(t, want)
		behind := want
		behind.Seq, behind.Notice, behind.Behind, behind.InFront, behind.Next = 3, ofKey("k", 1).ID, true, 2, time.Time{}
		f.isDelivery(t, behind)
		claimed := f.claimPushes(t, "a", 1).List
		want.Node, want.Next = "a", start.Add(lease)
		f.isDelivery(t, want)
		f.settle(t, claimed, delivery.SettleAgain, time.Second)
		want.Node, want.Next, want.Attempts, want.LastError = "", start.Add(time.Second), 1, "no route"
		want.Tried = []delivery.Attempt{{At: start, Error: "no route"}}
		f.isDelivery(t, want)
		f.clock.Add(time.Second)
		f.settle(t, f.claimPushes(t, "a", 1).List, delivery.SettleSent, 0)
		want.Next, want.Attempts, want.LastError, want.SentAt, want.State = time.Time{}, 2, "", f.clock.Now(), ledger.DeliverySent
		want.Tried = append([]delivery.Attempt{{At: want.SentAt}}, want.Tried...)
		f.isDelivery(t, want)
		for _, seq := range []int64{-1, 0, 99, 1<<63 - 1} {
			_, err := f.Delivery(t.Context(), seq)
			isError(t, ledger.ErrNotFound, err)
		}
	}},
	{"a delivery that an operator cancels ends with the reason, and releases the next one of its finding", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox, important}, ofKey("k", 0)))
		f.commit(t, 2, to([]ledger.Target{important}, ofKey("k", 1)))
		claimed := f.claimPushes(t, "a", 10).List
		changed, err := f.CancelDeliveries(t.Context(), Ann, []int64{2, 1, 99}, "not \x00 wanted")
		noError(t, err)
		equal(t, []int64{1, 2}, changed)
		f.hasCounts(t, map[ledger.DeliveryState]int64{4: 1})
		d, err := f.Delivery(t.Context(), 2)
		noError(t, err)
		equal(t, "not \uFFFD wanted", d.LastError)
		f.settle(t, claimed, delivery.SettleAgain, 0) // the token is void
		got := f.claimPushes(t, "a", 10)
		equal(t, []string{ofKey("k", 1).ID}, claimedIDs(got))
		changed, err = f.CancelDeliveries(t.Context(), Ann, []int64{1, 2}, "again")
		noError(t, err)
		equal(t, 0, len(changed))
		f.settle(t, claimed, delivery.SettleSent, 0) // but a sent delivery is recorded all the same
		f.hasGateway(t, map[ledger.DeliveryState]int64{0: 1, 1: 1})
		changed, err = f.CancelDeliveries(t.Context(), Ann, nil, "")
		noError(t, err)
		equal(t, 0, len(changed))
	}},
	{"a delivery that an operator retries is due at once, with its whole time", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		sparing := delayed(time.Hour, delivery.UnlessRead)
		f.commit(t, 1, to([]ledger.Target{inbox, within(time.Minute), sparing}, newNotice("n_1")))
		noError(t, f.MarkFailed(t.Context(), []int64{1}, delivery.Attempt{Error: "no"}))
		_, err := f.CancelDeliveries(t.Context(), Ann, []int64{3}, "read")
		noError(t, err)
		f.clock.Add(time.Minute)
		f.endPushes(t, 1, 0)
		f.clock.Add(time.Minute)
		changed, lanes, err := f.RetryDeliveries(t.Context(), Ann, []int64{1, 2, 3, 99})
		noError(t, err)
		equal(t, []int64{1, 2, 3}, changed)
		equal(t, []ledger.Lane{gatewayLane, inboxLane}, lanes)
		equal(t, 1, len(f.pending(t, inboxLane)))
		got := f.claimPushes(t, "a", 10)
		equal(t, []int64{2}, claimedSeqs(got)) // both belong to one finding
		equal(t, f.clock.Now().Add(time.Minute), got.List[0].Deadline)
		f.settle(t, got.List, delivery.SettleSent, 0)
		got = f.claimPushes(t, "a", 10)
		equal(t, []int64{3}, claimedSeqs(got))
		want := *sparing.Strategy
		want.Unless = ""
		equal(t, want, got.List[0].Strategy)
		equal(t, 0, got.List[0].Attempts)
		changed, lanes, err = f.RetryDeliveries(t.Context(), Ann, []int64{2, 3}) // one is sent, one is claimed
		noError(t, err)
		equal(t, 0, len(changed)+len(lanes))
		f.settle(t, got.List, delivery.SettleFailed, 0)
		f.clock.Add(24 * time.Hour) // the notice expires
		changed, _, err = f.RetryDeliveries(t.Context(), Ann, []int64{3})
		noError(t, err)
		equal(t, 0, len(changed))
	}},
	{"a delivery that waits for its next attempt is due at once after a retry, and its attempts start again at zero", func(t *testing.T, f *fixture) {
		f.register(t)
		f.commit(t, 1, to([]ledger.Target{important}, ofKey("k", 0)))
		f.commit(t, 2, to([]ledger.Target{delayed(time.Hour, "")}, ofKey("k", 1)))
		f.settle(t, f.claimPushes(t, "a", 10).List, delivery.SettleAgain, time.Minute)
		equal(t, 0, len(f.claimPushes(t, "a", 10).List))
		changed, lanes, err := f.RetryDeliveries(t.Context(), Ann, []int64{1, 2})
		noError(t, err)
		equal(t, []int64{1, 2}, changed)
		equal(t, []ledger.Lane{gatewayLane}, lanes)
		got := f.claimPushes(t, "a", 10)
		equal(t, []int64{1}, claimedSeqs(got))
		equal(t, 0, got.List[0].Attempts)
		d, err := f.Delivery(t.Context(), 1)
		noError(t, err)
		equal(t, 1, d.Attempts)
		f.settle(t, got.List, delivery.SettleSent, 0)
		equal(t, []int64{2}, claimedSeqs(f.claimPushes(t, "a", 10))) // an hour before its time
	}},
	{"a retried delivery takes its place in the order of its finding", func(t *testing.T, f *fixture) {
		f.register(t)
		for n := range 4 {
			f.commit(t, n+1, to([]ledger.Target{important}, ofKey("k", n)))
		}
		f.settle(t, f.claimPushes(t, "a", 10).List, delivery.SettleFailed, 0) // 1
		f.retries(t, 1)
		equal(t, []int64{1}, claimedSeqs(f.claimPushes(t, "a", 10))) // it goes before 2, which was due
		_, err := f.CancelDeliveries(t.Context(), Ann, []int64{1}, "")
		noError(t, err)
		claimed := f.claimPushes(t, "a", 10)
		equal(t, []int64{2}, claimedSeqs(claimed))
		f.retries(t, 1) // a node is trying 2
		equal(t, 0, len(f.claimPushes(t, "a", 10).List))
		_, err = f.CancelDeliveries(t.Context(), Ann, []int64{4}, "") // releases nothing: a node is still trying 2
		noError(t, err)
		equal(t, 0, len(f.claimPushes(t, "a", 10).List))
		f.settle(t, claimed.List, delivery.SettleSent, 0)
		for _, want := range []int64{1, 3} {
			claimed = f.claimPushes(t, "a", 10)
			equal(t, []int64{want}, claimedSeqs(claimed))
			f.settle(t, claimed.List, delivery.SettleSent, 0)
		}
		f.hasGateway(t, map[ledger.DeliveryState]int64{1: 3, 4: 1})
	}},
}

// retries retries a delivery as an operator.
func (f *pushChecks) retries(t testing.TB, seq int64) {
	t.Helper()
	changed, _, err := f.RetryDeliveries(t.Context(), Ann, []int64{seq})
	noError(t, err)
	equal(t, []int64{seq}, changed)
}

// endPushes ends deliveries of the gateway, and checks how many.
func (f *pushChecks) endPushes(t testing.TB, timedOut, canceled int) {
	t.Helper()
	late, expired, err := f.EndPushes(t.Context(), gateway, 100)
	noError(t, err)
	equal(t, []int{timedOut, canceled}, []int{late, expired})
}

func (f *pushChecks) isDelivery(t testing.TB, want ledger.DeliveryRecord) {
	t.Helper()
	got, err := f.Delivery(t.Context(), want.Seq)
	noError(t, err)
	equal(t, want, got)
}

func claimedSeqs(c delivery.Claims) []int64 {
	var out []int64
	for i := range c.List {
		out = append(out, c.List[i].Seq)
	}
	return out
}
