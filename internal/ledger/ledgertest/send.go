package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
)

var sendTests = []testCase{
	{"what is sent is delivered as what is committed", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.enters(t, delivery.Subscriber{ID: "user:1", Mail: []string{"ann@example.com"}}, true)
		important := &delivery.Strategy{Kind: delivery.Important}
		named := ledger.Target{Sink: inboxSink, Inbox: true, Recipients: []string{"role:keeper", "user:2"}}
		mail := ledger.Target{Sink: "mail", Each: true, Address: "mail", Strategy: important}
		list := append(to([]ledger.Target{inbox, {Sink: "queue"}, {Sink: gateway, Strategy: important}, mail}, sentNotice("n_1")),
			to([]ledger.Target{named, {Sink: "mail", Each: true, Address: "mail", Recipients: []string{"user:2"}, Strategy: important}}, sentNotice("n_2"))...)
		got := f.sends(t, list)
		equal(t, ledger.SentNotices{
			List:  []ledger.SentNotice{{ID: "n_1", Deliveries: 4}, {ID: "n_2", Deliveries: 1, Unsubscribed: 1}},
			Lanes: []ledger.Lane{{Sink: gateway}, inboxLane, {Sink: "mail"}, {Sink: "queue"}},
		}, got)
		pending := f.pending(t, inboxLane)
		equal(t, []string{"n_1", "n_2"}, ids(pending))
		equal(t, [][]string{{"user:1"}, {"role:keeper", "user:2"}}, [][]string{pending[0].Recipients, pending[1].Recipients})
		equal(t, list[0].Notice, pending[0].Notice)
		equal(t, []string{"n_1"}, ids(f.pending(t, ledger.Lane{Sink: "queue"})))
		equal(t, []string{"n_1"}, claimedIDs(f.claimAll(t, gateway)))
		mails := f.claimAll(t, "mail")
		equal(t, []string{"n_1"}, claimedIDs(mails))
		equal(t, []string{"user:1"}, mails.List[0].Recipients)
		totals, err := f.Totals(t.Context())
		noError(t, err)
		of, err := f.Trace(t.Context(), "", "", []string{""}, nil, 10)
		noError(t, err)
		equal(t, 0, len(of))
		equal(t, []ledger.Total{{Type: "REP_NOTICE", Status: "sent", Count: 2, Latest: start}}, totals)
	}},
	{"what is beyond the limits is refused, and nothing is written", func(t *testing.T, f *fixture) {
		many := make([]string, notice.MaxRecipients+1)
		for i := range many {
			many[i] = fmt.Sprintf("user:%d", i)
		}
		change := func(do func(*notice.Notice)) []ledger.NewNotice {
			bad := sentNotice("n_2")
			do(bad)
			return to([]ledger.Target{inbox}, sentNotice("n_1"), bad)
		}
		full := to([]ledger.Target{{Sink: inboxSink, Inbox: true, Recipients: many[:notice.MaxRecipients]}})
		for i := range notice.MaxRequestRecipients/notice.MaxRecipients + 1 {
			full = append(full, to([]ledger.Target{{Sink: inboxSink, Inbox: true, Recipients: many[:notice.MaxRecipients]}}, sentNotice(fmt.Sprintf("n_%d", i)))...)
		}
		long := make([]ledger.NewNotice, notice.MaxRequest+1)
		for i := range long {
			long[i] = to([]ledger.Target{inbox}, sentNotice(fmt.Sprintf("n_%d", i)))[0]
		}
		for what, list := range map[string][]ledger.NewNotice{
			"priority":    change(func(n *notice.Notice) { n.Priority = 99 }),
			"no priority": change(func(n *notice.Notice) { n.Priority = 0 }),
			"title":       change(func(n *notice.Notice) { n.Title = strings.Repeat("库", notice.MaxTitle+1) }),
			"body":        change(func(n *notice.Notice) { n.Body = strings.Repeat("x", notice.MaxBody+1) }),
			"translation": change(func(n *notice.Notice) {
				n.Texts = map[string]notice.Text{"zh": {Body: strings.Repeat("x", notice.MaxBody+1)}}
			}),
			"data": change(func(n *notice.Notice) {
				n.Data = []notice.Field{{Name: "bin", Value: strings.Repeat("x", notice.MaxFieldText+1)}}
			}),
			"label":           change(func(n *notice.Notice) { n.Labels = map[string]string{"a": strings.Repeat("x", notice.MaxLabel+1)} }),
			"life":            change(func(n *notice.Notice) { n.ExpiresAt = n.CreatedAt }),
			"recipients":      to([]ledger.Target{{Sink: inboxSink, Inbox: true, Recipients: many}}, sentNotice("n_1")),
			"recipients, all": full,
			"sinks":           to(slices.Repeat([]ledger.Target{inbox}, notice.MaxSinks+1), sentNotice("n_1")),
			"notices":         long,
		} {
			if _, err := f.Send(t.Context(), list); !errors.Is(err, ledger.ErrInvalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
		found, err := f.Notices(t.Context(), []string{"n_0", "n_1", "n_2"})
		noError(t, err)
		equal(t, 0, len(found))
	}},
	{"without anybody to have it a notice is kept", func(t *testing.T, f *fixture) {
		got := f.sends(t, to([]ledger.Target{inbox}, sentNotice("n_1")))
		equal(t, ledger.SentNotices{List: []ledger.SentNotice{{ID: "n_1", Unsubscribed: 1}}}, got)
		found, err := f.Notices(t.Context(), []string{"n_1"})
		noError(t, err)
		equal(t, 1, len(found))
	}},
	{"a repeated request is answered as it was and changes nothing", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		list := to([]ledger.Target{inbox, by(delivery.Strategy{Kind: delivery.Important}), {Sink: "mail", Each: true, Address: "mail", Strategy: &delivery.Strategy{Kind: delivery.Immediate}}},
			sentNotice("n_1"), sentNotice("n_2"))
		first := f.sends(t, list)
		f.send(t, f.pending(t, inboxLane)[:1], "", 1)
		noError(t, f.RemoveSubscription(t.Context(), Ann, ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:1"}))
		f.enters(t, delivery.Subscriber{ID: "user:1", Mail: []string{"ann@example.com"}}, true)
		f.clock.Add(time.Hour)
		for i := range list {
			n := *list[i].Notice
			n.CreatedAt, n.ExpiresAt = n.CreatedAt.Add(time.Hour), n.ExpiresAt.Add(time.Hour)
			list[i].Notice = &n
		}
		want := ledger.SentNotices{List: []ledger.SentNotice{
			{ID: "n_1", Existing: true, Deliveries: 2, Unsubscribed: 1}, {ID: "n_2", Existing: true, Deliveries: 2, Unsubscribed: 1},
		}}
		for i := range first.List {
			first.List[i].Existing = true
		}
		equal(t, want.List, first.List)
		equal(t, want, f.sends(t, list))
		asked, err := f.Sent(t.Context(), list)
		noError(t, err)
		equal(t, want, asked)
		equal(t, []string{"n_2"}, ids(f.pending(t, inboxLane)))
		found, err := f.Notices(t.Context(), []string{"n_1"})
		noError(t, err)
		equal(t, start, found["n_1"].CreatedAt)
	}},
	{"what was sent is told of what is there, and nothing is written", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.sends(t, to([]ledger.Target{inbox}, sentNotice("n_1")))
		other := sentNotice("n_1")
		other.Episode = `"s_other"`
		for _, asked := range [][]*notice.Notice{{sentNotice("n_1"), sentNotice("n_2")}, {other, sentNotice("n_2")}} {
			got, err := f.Sent(t.Context(), to([]ledger.Target{inbox}, asked...))
			noError(t, err)
			equal(t, ledger.SentNotices{List: []ledger.SentNotice{
				{ID: "n_1", Existing: true, Other: asked[0] == other, Deliveries: 1}, {ID: "n_2", Unsubscribed: 1},
			}}, got)
		}
		found, err := f.Notices(t.Context(), []string{"n_1", "n_2"})
		noError(t, err)
		equal(t, 1, len(found))
	}},
	{"another request under the ids of one writes nothing at all", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.sends(t, to([]ledger.Target{inbox}, sentNotice("n_1")))
		other := sentNotice("n_1")
		other.Episode = `"s_other"`
		fresh := sentNotice("n_2")
		fresh.Episode = other.Episode
		got := f.sends(t, to([]ledger.Target{inbox}, fresh, other))
		if !got.List[1].Other || !got.List[1].Existing || got.List[0].Other || got.List[0].Existing || len(got.Lanes) > 0 {
			t.Fatalf("got %+v", got)
		}
		equal(t, []string{"n_1"}, ids(f.pending(t, inboxLane)))
		found, err := f.Notices(t.Context(), []string{"n_1", "n_2"})
		noError(t, err)
		equal(t, map[string]*notice.Notice{"n_1": sentNotice("n_1")}, found)
	}},
	{"what is gone of a request is sent again", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.sends(t, to([]ledger.Target{inbox}, sentNotice("n_1")))
		got := f.sends(t, to([]ledger.Target{inbox}, sentNotice("n_1"), sentNotice("n_2")))
		equal(t, ledger.SentNotices{
			List:  []ledger.SentNotice{{ID: "n_1", Existing: true, Deliveries: 1}, {ID: "n_2", Deliveries: 1}},
			Lanes: []ledger.Lane{inboxLane},
		}, got)
		equal(t, []string{"n_1", "n_2"}, ids(f.pending(t, inboxLane)))
	}},
	{"what is sent waits for nothing else that is sent", func(t *testing.T, f *fixture) {
		f.sends(t, to([]ledger.Target{by(delivery.Strategy{Kind: delivery.Important})}, sentNotice("n_1"), sentNotice("n_2")))
		f.sends(t, to([]ledger.Target{by(delivery.Strategy{Kind: delivery.Important})}, sentNotice("n_3")))
		equal(t, []string{"n_1", "n_2", "n_3"}, claimedIDs(f.claimAll(t, gateway)))
	}},
	{"a request that many make at once is sent once", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		const n, many = 50, 8
		nodes := []ledger.Ledger{f.Ledger, f.other(t), f.other(t)}
		answers := make([]ledger.SentNotices, many)
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				var list []ledger.NewNotice
				for j := range n {
					list = append(list, to([]ledger.Target{inbox, by(delivery.Strategy{Kind: delivery.Important})}, sentNotice(fmt.Sprintf("n_%02d", j)))...)
				}
				got, err := nodes[i%len(nodes)].Send(t.Context(), list)
				if err != nil {
					t.Error(err)
				}
				answers[i] = got
			})
		}
		all.Wait()
		made := 0
		for _, a := range answers {
			for _, s := range a.List {
				if !s.Existing {
					made++
				}
				if s.Other || s.Deliveries != 2 {
					t.Fatalf("got %+v", s)
				}
			}
		}
		equal(t, n, made)
		equal(t, n, len(f.pending(t, inboxLane)))
		equal(t, n, len(f.claimAll(t, gateway).List))
	}},
}

// sentNotice makes a notice as a business system sends it.
func sentNotice(id string) *notice.Notice {
	n := newNotice(id)
	n.Rule, n.Scope, n.Key, n.Episode, n.Status = "", "", "", `"s_request"`, notice.Sent
	return n
}

func (f *base) sends(t testing.TB, list []ledger.NewNotice) ledger.SentNotices {
	t.Helper()
	got, err := f.Send(t.Context(), list)
	noError(t, err)
	return got
}
