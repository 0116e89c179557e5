package engine

import (
	"cmp"
	"errors"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/problem"
	"tallyman/scanners"
)

// alert adds what the rule tells of itself: no_data: alert and on_error: alert. Each is a finding of a reserved key
// that lives as the others do. A rule that no longer asks for one lets go of it.
func (p *pass) alert(known *before, found *found) {
	failed := found.run.Outcome == ledger.OutcomeFailed
	for _, a := range []struct {
		key, kind string
		policy    rules.Policy
		wrong     bool
		silent    bool // the run says nothing about it
	}{
		{finding.NoData, rules.AlertNoData, p.rule.NoData, !failed && found.run.Rows == 0, failed},
		{finding.OnError, rules.AlertOnError, p.rule.OnError, failed, false},
	} {
		st, policy := known.alertOf(a.key), p.policy
		if a.policy != rules.PolicyAlert {
			a.wrong, a.silent, policy.KeepFiringFor = false, false, 0
		}
		if a.silent {
			found.step.Leave(st)
			continue
		}
		var draft *rules.Draft
		by := ""
		if a.wrong {
			code, text := faultOf(found.fault)
			draft = rules.AlertDraft(p.rule, a.kind, code, text, p.lastRunAt(known))
			by = p.silenced(draft)
		}
		tells := len(found.step.Tells)
		found.step.Alert(st, a.wrong, rules.AlertPriority, policy, by, known.Since(), p.due)
		if len(found.step.Tells) > tells {
			found.drafts = append(found.drafts, draft)
		}
	}
}

// alertOf returns the finding's state, new where there is none.
func (b *before) alertOf(key string) finding.State {
	for _, st := range b.alerts {
		if st.Key == key {
			return st
		}
	}
	return finding.State{Key: key}
}

// faultOf takes an error apart into its code and what it says.
func faultOf(err error) (code, text string) {
	var source *scanners.Error
	var run *runError
	var problems problem.List
	switch {
	case err == nil:
		return "", ""
	case errors.As(err, &source):
		return string(source.Code), cmp.Or(source.Hint, source.Err.Error())
	case errors.As(err, &run):
		return run.code, run.message
	case errors.As(err, &problems) && len(problems) > 0:
		return problems[0].Code, problems[0].Message
	}
	return "run_failed", err.Error()
}
