package engine_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/engine/trial"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules"
)

// TestRulesThatChange edits a rule between its runs while its findings fire: groups, limits, keys, alerts, results. No
// notice has the id of an earlier one, no finding is missing in a count, and no finding stays open at the end.
func TestRulesThatChange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var bins []bin
		var fault error
		var start trial.Start
		s := &story{T: rt, open: map[string]string{}}
		due := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
		notices := map[string]*notice.Notice{}
		run := func(r *rules.Rule) {
			s.rule, s.try = r, binTrialFrom(t, r, &bins, &fault, start)
			out, err := s.try.Run(t.Context(), due)
			if err != nil {
				rt.Fatal(err)
			}
			commit := out.Commits[0]
			for _, n := range commit.Notices {
				notices[n.Notice.ID] = n.Notice
			}
			firing, resolved := s.split(commit)
			s.counted(due, firing)
			s.resolved(firing, resolved)
			start = trial.Start{State: ledger.ScopeState{Scope: commit.Scope, Registered: atEight}, Findings: s.try.Findings(), Notices: notices}
			due = due.Add(5 * time.Minute)
		}
		for range rapid.IntRange(1, 6).Draw(rt, "versions") {
			r := versionGen.Draw(rt, "rule")
			for range rapid.IntRange(1, 4).Draw(rt, "runs") {
				bins, fault = binsGen.Draw(rt, "bins"), nil
				if rapid.IntRange(0, 5).Draw(rt, "fails") == 0 {
					fault = errors.New("away")
				}
				run(r)
			}
		}
		bins, fault = []bin{{wh: "W1", code: "Z", qty: 5}}, nil
		last := manyBins()
		last.Scope = "W1"
		run(last)
		if len(s.open) > 0 || len(s.try.Findings()) > 0 {
			rt.Fatalf("never resolved: %v, %v", s.open, s.try.Findings())
		}
	})
}

var versionGen = rapid.Custom(func(t *rapid.T) *rules.Rule {
	minutes := func(name string) time.Duration {
		return time.Duration(rapid.SampledFrom([]int{0, 0, 5, 12}).Draw(t, name)) * time.Minute
	}
	r := manyBins()
	if rapid.IntRange(0, 4).Draw(t, "per") == 0 {
		r = resultRule()
	} else {
		r.Limit.Notices = rapid.IntRange(0, 3).Draw(t, "limit")
		switch rapid.IntRange(0, 3).Draw(t, "groups") {
		case 0:
			r = grouped(r)
		case 1:
			r = grouped(r)
			r.GroupBy = []string{"wh", "bin_code"}
		}
		if rapid.Bool().Draw(t, "key") {
			r.Key = []string{"wh", "bin_code"}
		}
	}
	r.For, r.KeepFiringFor, r.RepeatInterval = minutes("for"), minutes("keep"), minutes("repeat")
	if rapid.Bool().Draw(t, "alerts") {
		r.NoData, r.OnError = rules.PolicyAlert, rules.PolicyAlert
		r.Scope = "W1"
	}
	r.Scope = "W1"
	return r
})
