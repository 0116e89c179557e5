package codec

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules/row"
)

func newNotice(id, warehouse string, sinks ...ledger.Target) ledger.NewNotice {
	return ledger.NewNotice{Notice: &notice.Notice{ID: id, Type: "T", Warehouse: warehouse}, Sinks: sinks}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	inbox, queue := ledger.Target{Sink: "inbox", Inbox: true}, ledger.Target{Sink: "queue"}
	p := NewPlan(ledger.Claim{}, &ledger.Commit{Notices: []ledger.NewNotice{
		newNotice("n1", "w2", queue, inbox), newNotice("n2", "w1", inbox), newNotice("n1", "w3", inbox),
		newNotice("n3", "w2", inbox), newNotice("n4", "w2"),
	}})
	equal(t, []string{"n1", "n2", "n3", "n4"}, p.IDs())
	equal(t, []Audience{{"T", "w2", ""}, {"T", "w1", ""}}, p.Audiences)

	made := p.Make(&Facts{Audiences: []string{"user:1", ""}})
	equal(t, 1, made.Unsubscribed)
	equal(t, []Delivery{{0, 0, "", 0, nil}, {0, 1, "user:1", 0, nil}, {2, 1, "user:1", 0, nil}}, made.Deliveries)
	equal(t, []ledger.Lane{{Sink: "inbox", Warehouse: "w2"}, {Sink: "queue"}}, p.LanesOf(made.Deliveries))

	p.Drop(map[string]bool{"n1": true})
	equal(t, []string{"n2", "n3", "n4"}, p.IDs())
	made = p.Make(&Facts{Audiences: []string{"user:1", "user:2"}})
	equal(t, []Delivery{{0, 2, "user:2", 0, nil}, {1, 1, "user:1", 0, nil}}, made.Deliveries)
}

// A resolution goes to the sinks and recipients of its firing notice.
func TestPlanAfter(t *testing.T) {
	t.Parallel()
	inbox, queue := ledger.Target{Sink: "inbox", Inbox: true}, ledger.Target{Sink: "queue"}
	back := newNotice("n2", "w", inbox, queue)
	back.After = "n1"
	alone := newNotice("n4", "w", inbox, queue)
	alone.After = "n3"
	p := NewPlan(ledger.Claim{}, &ledger.Commit{Notices: []ledger.NewNotice{back, alone, newNotice("n5", "w", inbox)}})
	equal(t, []string{"n1", "n3"}, p.After())
	equal(t, []Audience{{"T", "w", ""}}, p.Audiences)
	made := p.Make(&Facts{Audiences: []string{"user:2"}, Told: map[NoticeLane]string{
		{"n1", ledger.Lane{Sink: "inbox", Warehouse: "w"}}: "user:1", {"n1", ledger.Lane{Sink: "mail"}}: "",
	}})
	equal(t, 1, made.Unsubscribed)
	equal(t, []Delivery{{0, 0, "user:1", 0, nil}, {2, 0, "user:2", 0, nil}}, made.Deliveries)
}

func TestPlanRefusesWhatCannotBeEncoded(t *testing.T) {
	t.Parallel()
	n := newNotice("n1", "w")
	n.Notice.Data = []notice.Field{{Name: "x", Value: 1.5}}
	wait := NewPlan(ledger.Claim{}, &ledger.Commit{Notices: []ledger.NewNotice{n}}).Encode()
	for range 2 {
		if wait() == nil {
			t.Fatal("a float was taken for a field")
		}
	}
}

// TestDigest changes one thing at a time: each change makes another commit.
func TestDigest(t *testing.T) {
	t.Parallel()
	digestAfter := func(change func(c *ledger.Claim, run *ledger.Commit)) string {
		c := ledger.Claim{Token: 7, Due: time.UnixMicro(1000)}
		run := &ledger.Commit{
			Run: ledger.Run{Started: time.UnixMicro(2000), Rows: 3}, Watermark: []row.Value{row.IntOf(1)},
			Findings: []ledger.FindingChange{{Op: ledger.Insert, State: finding.State{Key: "k"}}},
			Notices:  []ledger.NewNotice{newNotice("n1", "w")},
		}
		change(&c, run)
		return NewPlan(c, run).Digest
	}
	seen := map[string]int{}
	for i, change := range []func(c *ledger.Claim, run *ledger.Commit){
		func(*ledger.Claim, *ledger.Commit) {},
		func(c *ledger.Claim, _ *ledger.Commit) { c.Token++ },
		func(c *ledger.Claim, _ *ledger.Commit) { c.Due = time.UnixMicro(1001) },
		func(_ *ledger.Claim, run *ledger.Commit) { run.Run.Started = time.UnixMicro(2001) },
		func(_ *ledger.Claim, run *ledger.Commit) { run.Run.Rows++ },
		func(_ *ledger.Claim, run *ledger.Commit) { run.Again = true },
		func(_ *ledger.Claim, run *ledger.Commit) { run.Watermark[0] = row.IntOf(2) },
		func(_ *ledger.Claim, run *ledger.Commit) { run.Findings[0].Op = ledger.Delete },
		func(_ *ledger.Claim, run *ledger.Commit) { run.Findings[0].Key = "l" },
		func(_ *ledger.Claim, run *ledger.Commit) { run.Findings = nil },
		func(_ *ledger.Claim, run *ledger.Commit) { run.Notices[0].Notice.ID = "n2" },
		func(_ *ledger.Claim, run *ledger.Commit) { run.Notices = nil },
		func(_ *ledger.Claim, run *ledger.Commit) { run.Over = []string{"n1"} },
		func(_ *ledger.Claim, run *ledger.Commit) { run.Notices, run.Over = nil, []string{"n1"} },
	} {
		d := digestAfter(change)
		if other, ok := seen[d]; ok {
			t.Errorf("changes %d and %d have the same digest", other, i)
		}
		seen[d] = i
	}
}

func TestCheckFence(t *testing.T) {
	t.Parallel()
	want := ledger.CommitResult{Deliveries: 3, Unsubscribed: 1, Lanes: []ledger.Lane{{Sink: "inbox", Warehouse: "w"}}}
	kept, err := NewAnswer("d1", want)
	if err != nil {
		t.Fatal(err)
	}
	claim := ledger.Claim{Token: 7, Due: time.UnixMicro(60)}
	for name, c := range map[string]struct {
		kept           string
		token, running int64
		err            error
	}{
		"the claim is in force":                     {token: 7, running: 60},
		"the claim committed something else before": {kept: strings.Replace(kept, "d1", "d2", 1), token: 7, running: 60},
		"this commit went through before":           {kept: kept, token: 8, err: ErrRepeated},
		"another has the firing":                    {token: 8, running: 60, err: ledger.ErrFenced},
		"another firing runs":                       {token: 7, running: 120, err: ledger.ErrFenced},
		"none runs":                                 {token: 7, err: ledger.ErrFenced},
	} {
		got, err := CheckFence(claim, "d1", c.kept, c.token, c.running)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
		if errors.Is(err, ErrRepeated) {
			equal(t, want, got)
		}
	}
	if _, err = CheckFence(claim, "d1", "not JSON", 7, 60); err == nil {
		t.Fatal("nonsense was taken for an answer")
	}
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("not as wanted (-want +got):\n%s", diff)
	}
}

func TestMakePushes(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	timed := ledger.Target{Sink: "gateway", Strategy: &delivery.Strategy{Kind: delivery.Timed, Within: time.Hour}}
	late := ledger.Target{Sink: "sms", Strategy: &delivery.Strategy{Kind: delivery.Delayed, At: created.Add(time.Minute), Retry: 3, Unless: delivery.UnlessRead}}
	one, same := newNotice("n1", "w", timed, late), newNotice("n2", "w", timed)
	for _, n := range []*notice.Notice{one.Notice, same.Notice} {
		n.Rule, n.Key, n.CreatedAt, n.ExpiresAt = "r", "k", created, created.Add(30*time.Minute)
	}
	same.Notice.ExpiresAt = created.Add(2 * time.Hour)
	p := PlanOf([]ledger.NewNotice{one, same})
	finding := FindingHash("r", "", "k")
	equal(t, []int64{finding, finding}, p.Concerned())
	us := func(d time.Duration) int64 { return created.Add(d).UnixMicro() }
	first := PushRow{
		Due: us(0), First: us(0), Deadline: us(time.Hour), Ends: us(30 * time.Minute), Finding: &finding,
		Strategy: Strategy{Kind: "timed", Within: time.Hour.Microseconds()},
	}
	second := first
	second.Due, second.Ends = Behind, us(time.Hour)
	other := PushRow{
		Due: us(time.Minute), First: us(time.Minute), Ends: us(30 * time.Minute), Finding: &finding,
		Strategy: Strategy{Kind: "delayed", Unless: "read", At: us(time.Minute), Retry: 3},
	}
	equal(t, []Delivery{
		{0, 0, "", us(30 * time.Minute), &first}, {0, 1, "", us(30 * time.Minute), &other}, {1, 0, "", us(2 * time.Hour), &second},
	}, p.Make(&Facts{Audiences: []string{""}}).Deliveries)
	equal(t, *late.Strategy, other.Strategy.Strategy())

	// Of the open deliveries, only one of the same finding in the same lane goes first.
	before := []OpenPush{{Seq: 1, Finding: finding, Lane: ledger.Lane{Sink: "sms"}}, {Seq: 2, Finding: 7, Lane: ledger.Lane{Sink: "gateway"}}}
	made := p.Make(&Facts{Audiences: []string{""}, Open: before})
	equal(t, []int64{us(0), Behind, Behind}, []int64{made.Deliveries[0].Push.Due, made.Deliveries[1].Push.Due, made.Deliveries[2].Push.Due})
	equal(t, 0, len(made.Canceled))
}

func TestFindingsOf(t *testing.T) {
	t.Parallel()
	lowest, highest := FindingsOf("r", "s")
	for _, key := range []string{"", "k", "another"} {
		if h := FindingHash("r", "s", key); h < lowest || h > highest {
			t.Errorf("the number of %q lies outside", key)
		}
	}
	if h := FindingHash("r", "t", "k"); h >= lowest && h <= highest {
		t.Error("another scope lies inside")
	}
}
