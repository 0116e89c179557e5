package judge

import (
	"tallyman/internal/finding"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// stateJudge turns the rows of a rule of mode state into findings. A row that meets no condition costs no
// allocation, and only one that will be told is rendered.
type stateJudge struct {
	program *rules.Program
	pass    *Pass
	maxRows int
	step    *finding.Run
	json    rowJSON
	budget  Budget
	result  Result
}

func newStateJudge(p *Pass, known *Snapshot) *stateJudge {
	return &stateJudge{
		program: p.Program,
		pass:    p,
		maxRows: p.Rule.Probe.MaxRows,
		step:    finding.Begin(known.Scope, known.findings, p.Policy, p.Due),
	}
}

func (j *stateJudge) visit(r *row.Row) error {
	matches, err := j.program.Match(r)
	if err != nil {
		return j.errored(r, err)
	}
	if !matches {
		return nil
	}
	priority, err := j.program.Priority(r)
	if err != nil {
		return j.errored(r, err)
	}
	key := j.program.Key(r)
	if len(key) > longestKey {
		return j.errored(r, errLongKey)
	}
	verdict := j.step.Look(key, priority)
	if verdict.Repeated {
		j.result.run.Matched++
		AddSample(&j.result.run, "repeated key "+short(key))
		return nil
	}
	var changed bool
	size := len(key)
	if verdict.Kind == finding.None {
		changed = j.step.See(verdict)
	} else {
		draft, err := j.program.Draft(r)
		if err != nil {
			return j.errored(r, err)
		}
		changed = j.tell(verdict, draft)
		size += draft.Size()
	}
	j.result.run.Matched++
	if changed {
		encoded := j.json.encode(r)
		j.result.rows = append(j.result.rows, encoded)
		size += len(encoded)
	}
	return j.budget.Spend(size)
}

// tell counts a row whose finding is to be told, unless a silence holds that back.
func (j *stateJudge) tell(verdict finding.Verdict, draft *rules.NoticeDraft) (changed bool) {
	if by := j.pass.silenced(draft); by != "" {
		return j.step.Hold(verdict, by)
	}
	j.result.drafts = append(j.result.drafts, draft)
	return j.step.See(verdict)
}

func (j *stateJudge) errored(r *row.Row, err error) error {
	key := j.program.Key(r)
	j.step.Err(key)
	j.result.errored(key, err)
	return j.budget.Spend(len(key))
}

func (j *stateJudge) finish(res scanners.Result) (*Result, error) {
	if res.More {
		return nil, tooManyRows(j.maxRows)
	}
	j.result.step = j.step.Finish(res.Rows == 0)
	return &j.result, nil
}
