package rules_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/rules"
	"tallyman/rules/deliver"
	"tallyman/rules/row"
)

func TestDeliverInWords(t *testing.T) {
	for _, c := range []struct {
		d    deliver.Entry
		want string
	}{
		{deliver.Entry{Sink: "inbox"}, "inbox"},
		{deliver.Entry{Sink: "inbox", Strategy: deliver.Immediate, When: "qty < 0"}, "inbox, when qty < 0"},
		{deliver.Entry{Sink: "sms", Strategy: deliver.Delayed, Delay: 10 * time.Minute, Unless: deliver.UnlessRead}, "sms after 10m unless read"},
		{deliver.Entry{Sink: "sms", Strategy: deliver.Delayed, At: "due_at"}, "sms at due_at"},
		{deliver.Entry{Sink: "gw", Strategy: deliver.Important}, "gw until it succeeds"},
		{deliver.Entry{Sink: "gw", Strategy: deliver.Important, Until: deliver.UntilSent}, "gw until it succeeds, even after the notice has expired"},
		{deliver.Entry{Sink: "gw", Strategy: deliver.Timed, Within: 30 * time.Minute}, "gw for 30m"},
	} {
		if got := c.d.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

const deliverRule = `version: 1
rules:
  - id: a
    schedule: {cron: "@hourly"}
    source: wms
    probe: {sql: "SELECT * FROM bin_stock"}
    key: [bin_code]
    notice: {type: T, warehouse: wh_id, title: x, fields: {bin: bin_code}}
    deliver:
`

// deliverProgram is a rule with these entries of deliver.
func deliverProgram(t *testing.T, entries ...string) (*rules.Program, *rules.Rule) {
	t.Helper()
	s := rules.LoadFile("f.yaml", []byte(deliverRule+"      - "+strings.Join(entries, "\n      - ")+"\n"))
	if err := s.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	p, problems := rules.Compile(s.Rules[0], stock, types)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return p, s.Rules[0]
}

func TestDeliverNamesItsColumns(t *testing.T) {
	p, _ := deliverProgram(t, "{sink: inbox}", "{sink: sms, strategy: delayed, at: changed_at, when: qty < 0}")
	uses := p.Uses(stock)
	for column, want := range map[string]string{"changed_at": "deliver.sms.at", "qty": "deliver.sms.when", "sku": ""} {
		if got := strings.Join(uses[row.Index(stock, column)], " "); got != want {
			t.Errorf("%s: %q, want %q", column, got, want)
		}
	}
}

// Entries without expressions cost no allocation for a row, because all drafts share them.
func TestPlainDeliverIsShared(t *testing.T) {
	p, _ := deliverProgram(t, "{sink: inbox, strategy: immediate}", "{sink: sms, strategy: delayed, delay: 10m}")
	var drafts []*rules.NoticeDraft
	for range 2 {
		d, err := p.Clone().Draft(stockRow())
		if err != nil {
			t.Fatal(err)
		}
		drafts = append(drafts, d)
	}
	if a, b := drafts[0].Deliver, drafts[1].Deliver; len(a) != 2 || &a[0] != &b[0] {
		t.Errorf("%+v and %+v", a, b)
	}
}

// A file may write the strategy immediate or leave it out. Both have the same checksum, and rules from before
// strategies keep their checksum.
func TestImmediateMeansNothing(t *testing.T) {
	_, plain := deliverProgram(t, "{sink: inbox}")
	_, written := deliverProgram(t, "{sink: inbox, strategy: immediate}")
	_, important := deliverProgram(t, "{sink: inbox, strategy: important}")
	if plain.Checksum != written.Checksum || plain.Checksum == important.Checksum {
		t.Errorf("%s, %s and %s", plain.Checksum, written.Checksum, important.Checksum)
	}
}

// A clone judges rows of its own, with its own now.
func TestDeliverOfAClone(t *testing.T) {
	p, _ := deliverProgram(t, `{sink: inbox}`, `{sink: sms, strategy: delayed, at: now(), when: now() > changed_at}`)
	c := p.Clone()
	p.SetNow(changed)
	c.SetNow(changed.Add(time.Hour))
	before, err := p.Draft(stockRow())
	if err != nil {
		t.Fatal(err)
	}
	after, err := c.Draft(stockRow())
	if err != nil {
		t.Fatal(err)
	}
	if len(before.Deliver) != 1 || len(after.Deliver) != 2 || !after.Deliver[1].At.Equal(changed.Add(time.Hour)) {
		t.Fatalf("%+v and %+v", before.Deliver, after.Deliver)
	}
}

func TestDeliverThatCannotBeJudged(t *testing.T) {
	p, _ := deliverProgram(t, `{sink: inbox}`, `{sink: sms, when: "10 / (qty + 3) > 1"}`)
	if _, err := p.Draft(stockRow()); err == nil || !strings.HasPrefix(err.Error(), "deliver[1], to sms: when: ") {
		t.Fatalf("qty is -3.00: %v", err)
	}
}

// A notice about the rule itself is not about a row.
func TestAlertsGoEverywhere(t *testing.T) {
	_, r := deliverProgram(t, `{sink: inbox, when: qty < 0}`, `{sink: sms, strategy: delayed, at: changed_at}`)
	d := rules.AlertDraft(r, rules.AlertOnError, "probe_failed", "x", changed)
	if want := []rules.AppliedEntry{{Entry: 0}, {Entry: 1}}; !slices.Equal(d.Deliver, want) {
		t.Fatalf("%+v", d.Deliver)
	}
}

func TestPushSinks(t *testing.T) {
	for typ, want := range map[string]bool{"inbox": false, "queue": false, "webhook": true, "mail": true, "chat": true, "stdout": true} {
		if deliver.PushSink(typ) != want {
			t.Errorf("%s: %v", typ, !want)
		}
	}
}

// TestOwnLabels checks that OwnLabels keeps the rule's labels where a scope overrides them.
func TestOwnLabels(t *testing.T) {
	t.Parallel()
	set := rules.LoadFile("f.yaml", []byte(`version: 1
defaults: {labels: {team: stock}}
rules:
  - id: a
    schedule: {cron: "@hourly"}
    source: wms
    probe: {sql: SELECT bin FROM bins}
    key: [bin]
    labels: {area: pick}
    notice: {type: REP_NOTICE, title: Look}
    deliver: [{sink: inbox}]
    scopes: [{name: "1", overrides: {labels: {area: cold}}}, {name: "2", overrides: {labels: {area: bulk}}}]
`))
	if len(set.Rules) != 2 {
		t.Fatal(set.Problems)
	}
	for i, own := range []string{"cold", "bulk"} {
		if r := set.Rules[i]; r.Labels["area"] != own || r.OwnLabels["area"] != "pick" || r.OwnLabels["team"] != "stock" {
			t.Errorf("%s: %v, of the rule %v", r.Scope, r.Labels, r.OwnLabels)
		}
	}
}

// Rules with the same cron do not all start at once, unless a rule asks for that. A scope with its own cron has its own
// jitter.
func TestRulesSpreadByThemselves(t *testing.T) {
	t.Parallel()
	for schedule, want := range map[string][2]time.Duration{
		`{cron: "*/5 * * * *"}`:             {30 * time.Second, 2 * time.Second},
		`{cron: "*/2 * * * *"}`:             {12 * time.Second, 2 * time.Second},
		`{cron: "@every 1s"}`:               {100 * time.Millisecond, 2 * time.Second},
		`{cron: "0 8 * * *"}`:               {30 * time.Second, 2 * time.Second},
		`{cron: "0,1 8 * * *"}`:             {6 * time.Second, 2 * time.Second}, // the shortest interval counts
		`{cron: "0 8 * * *", jitter: 0}`:    {},
		`{cron: "*/2 * * * *", jitter: 1s}`: {time.Second, time.Second},
	} {
		src := "version: 1\nrules:\n  - {id: a, schedule: " + schedule + `, source: wms, probe: {sql: SELECT a FROM b}, key: [a],
    notice: {type: REP_NOTICE, warehouse: wh, title: x}, deliver: [{sink: inbox}],
    scopes: [{name: same}, {name: own, overrides: {schedule: {cron: "@every 20s"}}}]}
`
		set := rules.LoadFile("a.yaml", []byte(src))
		if err := set.Problems.Err(); err != nil {
			t.Fatal(err)
		}
		got := [2]time.Duration{set.Find("a", "same").Schedule.Jitter, set.Find("a", "own").Schedule.Jitter}
		if got != want {
			t.Errorf("%s: %s, want %s", schedule, got, want)
		}
	}
}
