package engine

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
	pass    *pass
	maxRows int
	due     string
	columns []int           // positions of the watermark's columns
	highest []row.Value     // the watermark: of the rows so far, or where the scan began
	raised  int             // how many rows raised it
	below   mark            // where the rows that have the highest watermark begin
	ordered bool            // no row lay below the one before it
	told    map[string]bool // key and episode of the events so far
	kept    kept
	found   found
}

// event is one row of a rule of mode event that is told, or dropped by a silence.
type event struct {
	key     string
	episode string
	draft   *rules.Draft
	by      string // the silences that drop it; "" = it is told
}

// mark is the judge before a row.
type mark struct {
	watermark []row.Value
	events    int
	run       ledger.Run
	repeated  int
}

func newEventJudge(p *pass, known *before) *eventJudge {
	j := &eventJudge{
		program: p.ready.program,
		pass:    p,
		maxRows: p.rule.Probe.MaxRows,
		due:     strconv.FormatInt(p.due.UnixMicro(), 10),
		ordered: true,
		told:    map[string]bool{},
	}
	if w := p.rule.Probe.Watermark; w != nil {
		j.highest = slices.Clone(known.Watermark)
		for _, name := range w.Columns {
			j.columns = append(j.columns, row.Index(p.ready.prepared.Columns(), name))
		}
	}
	j.found.step = finding.Drop(known.Scope, known.findings, p.policy, p.due)
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
		j.found.run.Matched++
		j.found.step.Repeated++
		sample(&j.found.run, "repeated key "+short(key))
		return nil
	}
	draft, err := j.program.Draft(r)
	if err != nil {
		j.errored(r, err)
		return nil
	}
	j.found.run.Matched++
	j.told[key+"\x00"+episode] = true
	j.found.events = append(j.found.events, event{key, episode, draft, j.pass.silenced(draft)})
	return j.kept.add(2*(len(key)+len(episode)) + draft.Size())
}

func (j *eventJudge) errored(r *row.Row, err error) {
	j.found.errored(j.program.Key(r), err)
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
		j.below = mark{append(j.below.watermark[:0], j.highest...), len(j.found.events), j.found.run, j.found.step.Repeated}
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

func (j *eventJudge) finish(res scanners.Result) (*found, error) {
	switch {
	case res.More && len(j.columns) == 0:
		return nil, tooManyRows(j.maxRows)
	case res.More && !j.ordered:
		return nil, &runError{"watermark_order", "there are more rows than probe.max_rows and they do not come in the order of the watermark: add ORDER BY with its columns"}
	case res.More && j.raised == 0:
		return nil, &runError{"watermark_stuck", "the probe returns rows that are not above the watermark: compare its columns with their :wm_ parameters"}
	}
	if res.More {
		return j.rest()
	}
	j.found.watermark = j.highest
	return &j.found, nil
}

// rest leaves the rows of the highest watermark to the next pass: behind the cap there may be more of them, which
// a probe that asks for what is above that watermark would never return.
func (j *eventJudge) rest() (*found, error) {
	if j.raised == 1 {
		return nil, &runError{"watermark_tied", fmt.Sprintf("more than %d rows have the same watermark: raise probe.max_rows, or add a column to the watermark that tells them apart", j.maxRows)}
	}
	j.found.events = j.found.events[:j.below.events]
	j.found.run, j.found.step.Repeated = j.below.run, j.below.repeated
	j.found.watermark, j.found.again = j.below.watermark, true
	return &j.found, nil
}
