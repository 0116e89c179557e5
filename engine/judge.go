package engine

import (
	"fmt"
	"strings"
	"unicode/utf8"

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
	if len(key) > longestKey {
		j.errored(r, errLongKey)
		return nil
	}
	verdict := j.step.Look(key, priority)
	if verdict.Repeated {
		sample(&j.found.run, "repeated key "+short(key))
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
	sample(&j.found.run, short(key)+": "+err.Error())
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

// longestKey is how many bytes a key may have: it is kept, indexed and carried by every notice, and cannot be cut.
const longestKey = 4 << 10

var errLongKey = fmt.Errorf("key: is longer than %d bytes", longestKey)

// The bounds of what a run tells of itself.
const (
	mostSamples = 5
	longSample  = 300
	longKey     = 100 // in a sample
	longError   = 2000
)

// sample keeps an example of what degraded a run.
func sample(run *ledger.Run, text string) {
	if len(run.Samples) < mostSamples {
		run.Samples = append(run.Samples, cut(text, longSample))
	}
}

func short(key string) string { return cut(key, longKey) }

// cut makes a text one that every ledger takes: of so many bytes at most, valid UTF-8, without NUL.
func cut(text string, most int) string {
	if len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most] + "…"
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// event is one row of a rule of mode event that is told.
type event struct {
	key     string
	episode string
	draft   *rules.Draft
}
