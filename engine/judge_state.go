package engine

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
	pass    *pass
	maxRows int
	step    *finding.Run
	json    rowJSON
	kept    kept
	found   found
}

func newStateJudge(p *pass, known *before) *stateJudge {
	return &stateJudge{
		program: p.ready.program,
		pass:    p,
		maxRows: p.rule.Probe.MaxRows,
		step:    finding.Begin(known.Scope, known.findings, p.policy, p.due),
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
		j.found.run.Matched++
		sample(&j.found.run, "repeated key "+short(key))
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
	j.found.run.Matched++
	if changed {
		encoded := j.json.encode(r)
		j.found.rows = append(j.found.rows, encoded)
		size += len(encoded)
	}
	return j.kept.add(size)
}

// tell counts a row whose finding is to be told, unless a silence holds that back.
func (j *stateJudge) tell(verdict finding.Verdict, draft *rules.Draft) (changed bool) {
	if by := j.pass.silenced(draft); by != "" {
		return j.step.Hold(verdict, by)
	}
	j.found.drafts = append(j.found.drafts, draft)
	return j.step.See(verdict)
}

func (j *stateJudge) errored(r *row.Row, err error) error {
	key := j.program.Key(r)
	j.step.Err(key)
	j.found.errored(key, err)
	return j.kept.add(len(key))
}

func (j *stateJudge) finish(res scanners.Result) (*found, error) {
	if res.More {
		return nil, tooManyRows(j.maxRows)
	}
	j.found.step = j.step.Finish(res.Rows == 0)
	return &j.found, nil
}
