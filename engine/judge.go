package engine

import (
	"fmt"
	"strings"

	"tallyman/engine/finding"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// stateJudge turns the rows of a rule of mode state into findings. A row that meets no condition costs no
// allocation, and only one that will be told is rendered.
type stateJudge struct {
	program *rules.Program
	maxRows int
	step    *finding.Run
	found   found
}

func newStateJudge(p *pass, known *before) *stateJudge {
	return &stateJudge{
		program: p.ready.program,
		maxRows: p.rule.Probe.MaxRows,
		step:    finding.Begin(known.Scope, known.findings, p.policy, p.due),
	}
}

func (j *stateJudge) visit(r *row.Row) error {
	matches, err := j.program.Match(r)
	if err != nil {
		j.errored(r, err)
		return nil
	}
	if !matches {
		return nil
	}
	j.found.run.Matched++
	priority, err := j.program.Priority(r)
	if err != nil {
		j.errored(r, err)
		return nil
	}
	key := j.program.Key(r)
	verdict := j.step.Look(key, priority)
	if verdict.Repeated {
		sample(&j.found.run, "repeated key "+key)
		return nil
	}
	if verdict.Kind != finding.None {
		draft, err := j.program.Draft(r)
		if err != nil {
			j.errored(r, err)
			return nil
		}
		j.found.drafts = append(j.found.drafts, draft)
	}
	j.step.See(verdict)
	return nil
}

func (j *stateJudge) errored(r *row.Row, err error) {
	key := j.program.Key(r)
	j.step.Err(key)
	j.found.run.Errored++
	sample(&j.found.run, key+": "+err.Error())
}

func (j *stateJudge) finish(res scanners.Result) (*found, error) {
	if res.More {
		return nil, tooManyRows(j.maxRows)
	}
	j.found.step = j.step.Finish(res.Rows == 0)
	return &j.found, nil
}

func tooManyRows(most int) error {
	return &runError{"too_many_rows", fmt.Sprintf("the probe returns more than %d rows: raise probe.max_rows or narrow the probe", most)}
}

// The bounds of Run.Samples.
const (
	mostSamples = 5
	longSample  = 300
)

// sample keeps an example of what degraded a run.
func sample(run *ledger.Run, text string) {
	if len(run.Samples) == mostSamples {
		return
	}
	if len(text) > longSample {
		text = strings.ToValidUTF8(text[:longSample], "") + "…"
	}
	run.Samples = append(run.Samples, text)
}

// event is one row of a rule of mode event that is told.
type event struct {
	key     string
	episode string
	draft   *rules.Draft
}
