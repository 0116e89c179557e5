package metrics_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/api/metrics"
	"tallyman/internal/ledger"
)

func TestRulesAreSummedOverTheirScopes(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	err := m.Register(metrics.NewRules(m, func(context.Context) []metrics.RuleState {
		return []metrics.RuleState{
			{Rule: "a", State: "ok", Pending: 1, Firing: 2},
			{Rule: "a", State: "failing", Failed: true, Firing: 3, Overdue: time.Minute},
			{Rule: "a", State: "late", Late: true, Degraded: true, Overdue: time.Hour},
			{Rule: "b", State: "disabled", Firing: 1},
			{Rule: "c", State: "unverified"},
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`tallyman_findings{rule="a",state="firing"} 5`, `tallyman_findings{rule="a",state="pending"} 1`,
		`tallyman_findings{rule="b",state="firing"} 1`, `tallyman_findings{rule="b",state="pending"} 0`,
		`tallyman_findings{rule="c",state="firing"} 0`, `tallyman_findings{rule="c",state="pending"} 0`,
		`tallyman_rule_degraded{rule="a"} 1`, `tallyman_rule_degraded{rule="b"} 0`, `tallyman_rule_degraded{rule="c"} 0`,
		`tallyman_rule_failing{rule="a"} 1`, `tallyman_rule_failing{rule="b"} 0`, `tallyman_rule_failing{rule="c"} 1`,
		`tallyman_rule_late{rule="a"} 1`, `tallyman_rule_late{rule="b"} 0`, `tallyman_rule_late{rule="c"} 0`,
		`tallyman_rule_overdue_seconds{rule="a"} 3600`, `tallyman_rule_overdue_seconds{rule="b"} 0`, `tallyman_rule_overdue_seconds{rule="c"} 0`,
		`tallyman_rules{state="degraded"} 0`, `tallyman_rules{state="disabled"} 1`, `tallyman_rules{state="failing"} 1`, `tallyman_rules{state="late"} 1`,
		`tallyman_rules{state="ok"} 1`, `tallyman_rules{state="unverified"} 1`,
	}
	got := slices.DeleteFunc(scrape(m), func(line string) bool {
		return !strings.HasPrefix(line, "tallyman_findings") && !strings.Contains(line, "{rule=") && !strings.HasPrefix(line, "tallyman_rules{")
	})
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The cap drops series of rules that are well alone, and says how many.
func TestTheCapDropsOnlyWhatIsWell(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	m.CapRules(2)
	states := []metrics.RuleState{
		{Rule: "a", State: "ok"},
		{Rule: "b", State: "ok"},
		{Rule: "c", State: "ok"},
		{Rule: "d", State: "failing", Failed: true},
		{Rule: "e", State: "late", Late: true},
		{Rule: "f", State: "degraded", Degraded: true},
		{Rule: "g", State: "unverified"},
		{Rule: "h", State: "disabled"},
	}
	if err := m.Register(metrics.NewRules(m, func(context.Context) []metrics.RuleState { return states })); err != nil {
		t.Fatal(err)
	}
	has := func(dropped string, want ...string) {
		t.Helper()
		series := scrape(m)
		var rules []string
		for _, line := range series {
			if name, ok := strings.CutPrefix(line, `tallyman_rule_failing{rule="`); ok {
				rules = append(rules, name[:1])
			}
		}
		if !slices.Equal(rules, want) || !slices.Contains(series, "tallyman_rule_series_dropped "+dropped) {
			t.Errorf("series of %q, wanted %q and %s dropped in\n%s", rules, want, dropped, strings.Join(series, "\n"))
		}
	}
	has("20", "a", "b", "d", "e", "f", "g") // c and h have none
	m.RunDone(ledger.Run{Rule: "d", Outcome: ledger.OutcomeFailed, Duration: time.Second})
	if series := scrape(m); !slices.Contains(series, `tallyman_runs_total{outcome="failed",rule="d"} 1`) {
		t.Errorf("the failing rule is counted among the others:\n%s", strings.Join(series, "\n"))
	}
	states[3].Failed, states[3].State = false, "ok"
	has("30", "a", "b", "e", "f", "g")
}

// A rule that is in no file any more loses its series, and later counts of the rule make no new series.
func TestARemovedRuleLosesItsSeries(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	run := func(rule string) {
		m.RunDone(ledger.Run{Rule: rule, Outcome: ledger.OutcomeOK, Rows: 2, Matched: 1, Duration: time.Second})
	}
	run("stays")
	run("goes")
	m.KeepRules([]string{"stays"})
	run("goes")
	run("stays")
	var left []string
	for _, line := range scrape(m) {
		if strings.Contains(line, `rule="goes"`) {
			t.Errorf("left %s", line)
		}
		if strings.HasPrefix(line, "tallyman_runs_total") && !strings.HasSuffix(line, " 0") {
			left = append(left, line)
		}
	}
	if want := []string{`tallyman_runs_total{outcome="ok",rule="(other)"} 1`, `tallyman_runs_total{outcome="ok",rule="stays"} 2`}; !slices.Equal(left, want) {
		t.Errorf("got %q", left)
	}
}

// What an alert asks the increase of counts from 0: Prometheus sees none in a series that begins with 1.
func TestSeriesBeginWithNothing(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	m.KeepRules([]string{"a"})
	m.KeepSink("gateway", []string{"failed"})
	series := scrape(m)
	for _, want := range []string{
		`tallyman_runs_total{outcome="degraded",rule="a"} 0`, `tallyman_runs_total{outcome="skipped",rule="a"} 0`,
		`tallyman_deliveries_total{outcome="failed",sink="gateway"} 0`, `tallyman_rule_reloads_total{outcome="failed"} 0`,
	} {
		if !slices.Contains(series, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(series, "\n"))
		}
	}
}

// A ledger that has not said yet which rules there are takes no series away.
func TestRulesThatAreNotKnown(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	if err := m.Register(metrics.NewRules(m, func(context.Context) []metrics.RuleState { return nil })); err != nil {
		t.Fatal(err)
	}
	m.RunDone(ledger.Run{Rule: "a", Outcome: ledger.OutcomeOK, Duration: time.Second})
	scrape(m)
	m.RunDone(ledger.Run{Rule: "a", Outcome: ledger.OutcomeOK, Duration: time.Second})
	if series := scrape(m); !slices.Contains(series, `tallyman_runs_total{outcome="ok",rule="a"} 2`) {
		t.Errorf("got\n%s", strings.Join(series, "\n"))
	}
}

// 2,000 rules in 30 warehouses each, which have done everything that a rule can do, stay under 15 series a rule: no series knows a scope, a
// warehouse or a subscriber.
func TestSeriesOfManyRules(t *testing.T) {
	t.Parallel()
	const rules, scopes, most = 2000, 30, 15
	m := newMetrics(t)
	var states []metrics.RuleState
	for i := range rules {
		for range scopes {
			states = append(states, metrics.RuleState{Rule: fmt.Sprintf("rule-%d", i), State: "ok", Firing: 1})
		}
	}
	if err := m.Register(metrics.NewRules(m, func(context.Context) []metrics.RuleState { return states })); err != nil {
		t.Fatal(err)
	}
	for i := range rules {
		for scope := range scopes {
			for _, outcome := range []ledger.Outcome{ledger.OutcomeOK, ledger.OutcomeDegraded, ledger.OutcomeFailed, ledger.OutcomeSkipped} {
				m.RunDone(ledger.Run{
					Rule: fmt.Sprintf("rule-%d", i), Scope: fmt.Sprint(119000 + scope), Outcome: outcome, Rows: 3, Matched: 1, Errored: 1, Duration: time.Millisecond,
				})
			}
		}
	}
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := 0
	for _, f := range families {
		series += len(f.GetMetric())
	}
	if series < rules*8 || series > rules*most {
		t.Errorf("%d series for %d rules in %d scopes, at most %d are wanted", series, rules, scopes, rules*most)
	}
	t.Logf("%d series", series)
}
