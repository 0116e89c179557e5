package ledgertest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/message"
)

const (
	rule      = "negative-bin-stock"
	scope     = "119240"
	warehouse = "119240"
	inboxSink = "inbox"
)

var inbox = ledger.Target{Sink: inboxSink, Inbox: true}

var inboxLane = ledger.Lane{Sink: inboxSink, Warehouse: warehouse}

// due returns the n-th due time of the tests' rule.
func due(n int) time.Time { return start.Add(time.Duration(n) * 5 * time.Minute) }

// newNotice makes a notice that lives for a day.
func newNotice(id string) *notice.Notice {
	return &notice.Notice{
		ID: id, Type: "REP_NOTICE", TypeID: 124719, Warehouse: warehouse, Rule: rule, Scope: scope,
		Key: `["` + id + `"]`, Episode: "1780272600000000", Status: notice.Firing, Priority: 3, Modal: "popup",
		Title: "Bin A-01 is at -3", Body: "Replenish it.",
		Data:   []notice.Field{{Name: "bin", Value: "A-01"}, {Name: "qty", Value: "-3"}},
		Labels: map[string]string{"area": "replenishment"}, Count: 1,
		CreatedAt: start, ExpiresAt: start.Add(24 * time.Hour),
	}
}

// to returns the notices, each with all targets as its sinks.
func to(targets []ledger.Target, notices ...*notice.Notice) []ledger.NewNotice {
	out := make([]ledger.NewNotice, len(notices))
	for i, n := range notices {
		out[i] = ledger.NewNotice{Notice: n, Sinks: targets}
	}
	return out
}

// numbered makes n notices with ids that begin with prefix.
func numbered(prefix string, n int) []*notice.Notice {
	out := make([]*notice.Notice, n)
	for i := range out {
		out[i] = newNotice(fmt.Sprintf("%s%05d", prefix, i))
	}
	return out
}

// insert makes new findings with the keys.
func insert(keys ...string) []ledger.FindingChange {
	out := make([]ledger.FindingChange, len(keys))
	for i, k := range keys {
		out[i] = ledger.FindingChange{Op: ledger.Insert, State: firing(k)}
	}
	return out
}

func firing(key string) finding.State {
	return finding.State{
		Key: key, Phase: finding.Firing, Episode: due(1), SinceClock: 10 * time.Minute, FiringSince: due(3), Priority: 3,
		LastNotified: due(3), Ordinal: 1, NoticeID: "n_" + key,
	}
}

// okRun makes the record of a successful run.
func okRun(c ledger.Claim) ledger.Run {
	return ledger.Run{
		Rule: c.Rule, Scope: c.Scope, Due: c.Due, Node: c.Node, Started: c.Due.Add(time.Second), Duration: 20 * time.Millisecond,
		Outcome: ledger.OutcomeOK, Rows: 7, Matched: 2,
	}
}

// commitOf makes a commit of the claim with only the run and the state of the scope.
func commitOf(c ledger.Claim) *ledger.Commit {
	return &ledger.Commit{Run: okRun(c), Scope: finding.Scope{LastDue: c.Due, LastOKDue: c.Due, Clock: 5 * time.Minute}}
}

func (f *base) register(t testing.TB) {
	t.Helper()
	_, err := f.Register(t.Context(), rule, scope, 0, start)
	noError(t, err)
}

// skip skips the n-th firing, and returns whether the ledger recorded the skip.
func (f *base) skip(t testing.TB, term int64, n int, node, reason string) bool {
	t.Helper()
	recorded, err := f.Skip(t.Context(), rule, scope, term, due(n), node, reason)
	noError(t, err)
	return recorded
}

// claim claims the n-th firing for node a. claim drops the optional fields State and Before.
func (f *base) claim(t testing.TB, n int) ledger.Claim {
	t.Helper()
	c, err := f.Claim(t.Context(), rule, scope, 0, due(n), "a", lease)
	noError(t, err)
	c.State, c.Before = nil, 0
	return c
}

// commit claims the n-th firing and commits it with the notices.
func (f *base) commit(t testing.TB, n int, notices []ledger.NewNotice, findings ...ledger.FindingChange) ledger.CommitResult {
	t.Helper()
	c := f.claim(t, n)
	run := commitOf(c)
	run.Notices, run.Findings = notices, findings
	done, err := f.Commit(t.Context(), c, run)
	noError(t, err)
	return done
}

// subscribed registers the rule, adds the type of its notices, and subscribes user:1 in every warehouse.
func (f *base) subscribed(t testing.TB) {
	t.Helper()
	f.register(t)
	noError(t, f.PutType(t.Context(), Ann, repNotice()))
	f.subscribe(t, ledger.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: "user:1"})
}

func (f *base) subscribe(t testing.TB, subs ...ledger.Subscription) {
	t.Helper()
	added, err := f.AddSubscriptions(t.Context(), Ann, subs)
	noError(t, err)
	equal(t, len(subs), added)
}

func repNotice() catalog.Type {
	return catalog.Type{
		Code: "REP_NOTICE", ID: 124719, Name: "Replenishment notice", Names: map[string]string{"zh": "补货通知"},
		Category: "SUBSCRIBE_TYP", Retention: 72 * time.Hour,
		Fields: map[string]catalog.Field{"bin": {Type: catalog.String, Required: true}, "qty": {Type: catalog.Decimal}},
		Defaults: catalog.Defaults{
			Title: message.Texts{"": "Refill {{ .bin }}", "zh": "补货 {{ .bin }}"}, Body: message.Texts{"en": "{{ .qty | round 2 }} are missing"},
			Priority: 4, Modal: catalog.ModalPopup, Labels: map[string]string{"team": "inbound"},
			Deliver: []deliver.Entry{{Sink: "inbox"}, {Sink: "sms", Strategy: deliver.Delayed, Delay: 10 * time.Minute, Retry: 2, Unless: deliver.UnlessRead}},
		},
	}
}

func (f *base) pending(t testing.TB, lane ledger.Lane) []delivery.Delivery {
	t.Helper()
	list, err := f.Pending(t.Context(), lane, 100_000)
	noError(t, err)
	return list
}

// send marks deliveries as sent, with ascending scores that begin at first.
func (f *base) send(t testing.TB, list []delivery.Delivery, epoch string, first int64) {
	t.Helper()
	receipts := make([]delivery.Receipt, len(list))
	for i, d := range list {
		receipts[i] = delivery.Receipt{Seq: d.Seq, Score: first + int64(i), Epoch: epoch}
	}
	noError(t, f.MarkSent(t.Context(), "", receipts, delivery.Attempt{}))
}

func ids(list []delivery.Delivery) []string {
	out := make([]string, len(list))
	for i, d := range list {
		out[i] = d.Notice.ID
	}
	return out
}

func seqs(list []delivery.Delivery) []int64 {
	out := make([]int64, len(list))
	for i, d := range list {
		out[i] = d.Seq
	}
	return out
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func isError(t testing.TB, want, err error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got the error %v, want %v", err, want)
	}
}

// equal compares two values, want first.
func equal(t testing.TB, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("not as wanted (-want +got):\n%s", diff)
	}
}
