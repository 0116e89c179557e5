package judge

import (
	"fmt"
	"slices"
	"strconv"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// eventJudge turns the rows of a rule of mode event into notices, and follows the watermark over all
// rows, also those that meet no condition.
type eventJudge struct {
	program *rules.Program
	pass    *Pass
	maxRows int
	due     string
	columns []int           // positions of the watermark's columns
	highest []row.Value     // the watermark: of the rows so far, or where the scan began
	raised  int             // how many rows raised it
	below   checkpoint      // where the rows that have the highest watermark begin
	ordered bool            // no row lay below the one before it
	told    map[string]bool // key and episode of the events so far
	budget  Budget
	result  Result
}

// event is one row of a rule of mode event that is told, or dropped by a silence.
type event struct {
	key     string
	episode string
	draft   *rules.NoticeDraft
	by      string // the silences that drop it; "" = it is told
}

// checkpoint is the judge before a row.
type checkpoint struct {
	watermark []row.Value
	events    int
	run       ledger.Run
	repeated  int
}

func newEventJudge(p *Pass, known *Snapshot) *eventJudge {
	j := &eventJudge{
		program: p.Program,
		pass:    p,
		maxRows: p.Rule.Probe.MaxRows,
		due:     strconv.FormatInt(p.Due.UnixMicro(), 10),
		ordered: true,
		told:    map[string]bool{},
	}
	if w := p.Rule.Probe.Watermark; w != nil {
		j.highest = slices.Clone(known.Watermark)
		for _, name := range w.Columns {
			j.columns = append(j.columns, row.Index(p.Prepared.Columns(), name))
		}
	}
	j.result.step = finding.Drop(known.Scope, known.findings, p.Policy, p.Due)
	return j
}

func (j *eventJudge) visit(r *row.Row) error {
	j.follow(r)
	matches, err := j.program.Match(r)
	if err != nil {
		j.errored(r, err)
		return nil
	}
	if !matches {
		return nil
	}
	key, episode := j.program.Key(r), j.episode(r)
	if len(key) > longestKey || len(episode) > longestKey {
		j.errored(r, errLongKey)
		return nil
	}
	if j.told[key+"\x00"+episode] {
		j.result.run.Matched++
		j.result.step.Repeated++
		AddSample(&j.result.run, "repeated key "+short(key))
		return nil
	}
	draft, err := j.program.Draft(r)
	if err != nil {
		j.errored(r, err)
		return nil
	}
	j.result.run.Matched++
	j.told[key+"\x00"+episode] = true
	j.result.events = append(j.result.events, event{key, episode, draft, j.pass.silenced(draft)})
	return j.budget.Spend(2*(len(key)+len(episode)) + draft.Size())
}

func (j *eventJudge) errored(r *row.Row, err error) {
	j.result.errored(j.program.Key(r), err)
}

// follow raises the watermark to the row. A NULL in it says nothing about the order.
func (j *eventJudge) follow(r *row.Row) {
	if len(j.columns) == 0 {
		return
	}
	order := 0
	for i, at := range j.columns {
		v := r.Values[at]
		if v.IsNull() {
			return
		}
		if order == 0 {
			c, err := row.Compare(v, j.highest[i])
			if err != nil {
				c = 1 // the column has another kind than when the watermark was recorded
			}
			order = c
		}
	}
	switch {
	case order < 0:
		j.ordered = false
	case order > 0:
		j.raised++
		j.below = checkpoint{append(j.below.watermark[:0], j.highest...), len(j.result.events), j.result.run, j.result.step.Repeated}
		for i, at := range j.columns {
			j.highest[i] = r.Values[at].Clone()
		}
	}
}

// episode tells two rows of one key apart: the row's watermark, or the due time where there is none.
func (j *eventJudge) episode(r *row.Row) string {
	if len(j.columns) == 0 {
		return j.due
	}
	text := []byte{'['}
	for i, at := range j.columns {
		if i > 0 {
			text = append(text, ',')
		}
		text = r.Values[at].AppendKey(text)
	}
	return string(append(text, ']'))
}

func (j *eventJudge) finish(res scanners.Result) (*Result, error) {
	switch {
	case res.More && len(j.columns) == 0:
		return nil, tooManyRows(j.maxRows)
	case res.More && !j.ordered:
		return nil, &Error{"watermark_order", "there are more rows than probe.max_rows and they do not come in the order of the watermark: add ORDER BY with its columns"}
	case res.More && j.raised == 0:
		return nil, &Error{"watermark_stuck", "the probe returns rows that are not above the watermark: compare its columns with their :wm_ parameters"}
	}
	if res.More {
		return j.rest()
	}
	j.result.watermark = j.highest
	return &j.result, nil
}

// rest leaves the rows of the highest watermark to the next pass: behind the cap there may be more of them, which
// a probe that asks for what is above that watermark would never return.
func (j *eventJudge) rest() (*Result, error) {
	if j.raised == 1 {
		return nil, &Error{"watermark_tied", fmt.Sprintf("more than %d rows have the same watermark: raise probe.max_rows, or add a column to the watermark that tells them apart", j.maxRows)}
	}
	j.result.events = j.result.events[:j.below.events]
	j.result.run, j.result.step.Repeated = j.below.run, j.below.repeated
	j.result.watermark, j.result.again = j.below.watermark, true
	return &j.result, nil
}
