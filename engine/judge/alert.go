package judge

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
func (p *Pass) alert(known *Snapshot, result *Result) {
	failed := result.run.Outcome == ledger.OutcomeFailed
	for _, a := range []struct {
		key, kind string
		policy    rules.Policy
		wrong     bool
		silent    bool // the run says nothing about it
	}{
		{finding.NoData, rules.AlertNoData, p.Rule.NoData, !failed && result.run.Rows == 0, failed},
		{finding.OnError, rules.AlertOnError, p.Rule.OnError, failed, false},
	} {
		st, policy := known.alertOf(a.key), p.Policy
		if a.policy != rules.PolicyAlert {
			a.wrong, a.silent, policy.KeepFiringFor = false, false, 0
		}
		if a.silent {
			result.step.Leave(st)
			continue
		}
		var draft *rules.NoticeDraft
		by := ""
		if a.wrong {
			code, text := faultOf(result.Fault)
			draft = rules.AlertDraft(p.Rule, a.kind, code, text, p.lastRunAt(known))
			by = p.silenced(draft)
		}
		tells := len(result.step.Tells)
		result.step.Alert(st, a.wrong, rules.AlertPriority, policy, by, known.Since(), p.Due)
		if len(result.step.Tells) > tells {
			result.drafts = append(result.drafts, draft)
		}
	}
}

// alertOf returns the finding's state, new where there is none.
func (s *Snapshot) alertOf(key string) finding.State {
	for _, st := range s.alerts {
		if st.Key == key {
			return st
		}
	}
	return finding.State{Key: key}
}

// faultOf takes an error apart into its code and what it says.
func faultOf(err error) (code, text string) {
	var source *scanners.Error
	var own *Error
	var problems problem.List
	switch {
	case err == nil:
		return "", ""
	case errors.As(err, &source):
		return string(source.Code), cmp.Or(source.Hint, source.Err.Error())
	case errors.As(err, &own):
		return own.Code, own.Message
	case errors.As(err, &problems) && len(problems) > 0:
		return problems[0].Code, problems[0].Message
	}
	return "run_failed", err.Error()
}
