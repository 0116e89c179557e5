package judge

import (
	"tallyman/internal/finding"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// resultKey is the key of the one finding of a rule with per: result.
const resultKey = "[]"

// resultJudge makes one finding of all rows. None of them is kept with it, for none of them is what it is about.
type resultJudge struct {
	program  *rules.Program
	pass     *Pass
	maxRows  int
	keepLast bool
	step     *finding.Run
	rows     []*row.Row
	budget   Budget
	result   Result
}

func newResultJudge(p *Pass, known *Snapshot) *resultJudge {
	return &resultJudge{
		program:  p.Program,
		pass:     p,
		maxRows:  p.Rule.Probe.MaxRows,
		keepLast: p.Policy.KeepLast,
		step:     finding.Begin(known.Scope, known.findings, p.Policy, p.Due),
	}
}

func (j *resultJudge) visit(r *row.Row) error {
	j.rows = append(j.rows, r.Clone())
	return j.budget.Spend(r.Size())
}

func (j *resultJudge) finish(res scanners.Result) (*Result, error) {
	if res.More {
		return nil, tooManyRows(j.maxRows)
	}
	if noData := res.Rows == 0; !noData || !j.keepLast {
		if err := j.judge(); err != nil {
			j.step.Err(resultKey)
			j.result.run.Matched, j.result.run.Errored = 0, max(len(j.rows), 1)
			AddSample(&j.result.run, "result: "+err.Error())
		}
	}
	j.result.step = j.step.Finish(res.Rows == 0)
	return &j.result, nil
}

func (j *resultJudge) judge() error {
	matches, err := j.program.MatchResult(j.rows)
	if err != nil || !matches {
		return err
	}
	priority, err := j.program.PriorityResult(j.rows)
	if err != nil {
		return err
	}
	verdict := j.step.Look(resultKey, priority)
	if verdict.Kind == finding.None {
		j.step.See(verdict)
	} else {
		draft, err := j.program.DraftResult(j.rows)
		if err != nil {
			return err
		}
		if by := j.pass.silenced(draft); by != "" {
			j.step.Hold(verdict, by)
		} else {
			j.result.drafts = append(j.result.drafts, draft)
			j.step.See(verdict)
		}
	}
	j.result.run.Matched = len(j.rows)
	return nil
}
