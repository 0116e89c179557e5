package judge

import (
	"fmt"
	"slices"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// eventJudge turns the rows of a rule of mode event into notices. eventJudge moves the watermark over all rows,
// including rows that do not meet the condition.
type eventJudge struct {
	program  *rules.Program
	pass     *Pass
	maxRows  int
	due      string
	baseline bool            // This is the first run of a rule with first_run: baseline. It sends no notice.
	columns  []int           // The positions of the watermark's columns in a row.
	highest  []row.Value     // The highest watermark of the rows so far, or where the scan began.
	raised   int             // The number of rows that raised highest.
	below    checkpoint      // The state of the judge before it took the first row of the highest watermark.
	ordered  bool            // Every row so far lay at or above highest.
	events   map[string]bool // The keys and episodes of the events so far.
	from     []row.Value     // The watermark before the pass.
	memory   *seenMemory     // Nil means the rule has no look_back.
	budget   Budget
	result   Result
}

// event is a row of a rule of mode event that meets the condition: it gets a notice, or silences drop it.
type event struct {
	key     string
	episode string
	draft   *rules.NoticeDraft
	by      string // The ids of the silences that drop the event. Empty means it gets a notice.
}

// checkpoint is the state of an eventJudge before a row. The method rest restores a checkpoint.
type checkpoint struct {
	watermark []row.Value
	events    int
	seen      int // The number of rows in the memory.
	run       ledger.Run
	repeated  int
}

func newEventJudge(p *Pass, known *Snapshot) *eventJudge {
	j := &eventJudge{
		program:  p.Program,
		pass:     p,
		maxRows:  p.Rule.Probe.MaxRows,
		due:      notice.EpisodeAt(p.Term, p.Due),
		baseline: p.Policy.Baseline && known.IsFirst(),
		ordered:  true,
		events:   map[string]bool{},
	}
	if w := p.Rule.Probe.Watermark; w != nil {
		j.highest, j.from = slices.Clone(known.begin), known.Watermark
		for _, name := range w.Columns {
			j.columns = append(j.columns, row.Index(p.Prepared.Columns(), name))
		}
	}
	if j.memory = known.memory; j.memory != nil {
		j.memory.recall()
	} else if known.back.From != nil {
		// The rule does not have look_back any more: clear the ledger's memory.
		j.result.lookBack = &ledger.LookBackChange{}
	}
	j.result.step = finding.Drop(known.Scope, known.findings, p.Policy, p.Due)
	return j
}

// visit takes a row. A row that an earlier run has seen only moves the position. errPageFull means the row is new, but
// max_rows new rows were taken already; the row is left to the next pass.
func (j *eventJudge) visit(r *row.Row) error {
	if j.memory == nil {
		j.follow(r)
		return j.judge(r)
	}
	hash := hashOf(j.program, r)
	if _, seen := j.memory.seen[hash]; seen {
		j.memory.skipped++
		j.follow(r)
		return nil
	}
	if j.memory.rows() == j.maxRows {
		return errPageFull
	}
	j.follow(r)
	j.memory.add(hash, func() []row.Value { return slices.Clone(j.highest) })
	return j.judge(r)
}

// judge makes an event of a new row that meets the condition.
func (j *eventJudge) judge(r *row.Row) error {
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
	if j.baseline {
		j.result.run.Matched++
		return nil
	}
	if j.events[key+"\x00"+episode] {
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
	j.events[key+"\x00"+episode] = true
	j.result.events = append(j.result.events, event{key, episode, draft, j.pass.silenced(key, draft)})
	return j.budget.Spend(2*(len(key)+len(episode)) + draft.Size())
}

func (j *eventJudge) errored(r *row.Row, err error) {
	j.result.errored(j.program.Key(r), err)
}

// follow raises the watermark to the row. follow skips a row with a NULL in a watermark column, because such a row has
// no place in the order.
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
				c = 1 // The kind of the column has changed since the watermark was recorded.
			}
			order = c
		}
	}
	switch {
	case order < 0:
		j.ordered = false
	case order > 0:
		j.raised++
		j.below = checkpoint{append(j.below.watermark[:0], j.highest...), len(j.result.events), 0, j.result.run, j.result.step.Repeated}
		if j.memory != nil {
			j.below.seen = j.memory.rows()
		}
		for i, at := range j.columns {
			j.highest[i] = r.Values[at].Clone()
		}
	}
}

// episode returns what distinguishes two events of one key: the row's watermark, or the due time for a rule without a
// watermark.
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
	return notice.InTerm(j.pass.Term, string(append(text, ']')))
}

func (j *eventJudge) finish(res scanners.Result) (*Result, error) {
	switch {
	case res.More && len(j.columns) == 0:
		return nil, tooManyRows(j.maxRows)
	case res.More && !j.ordered:
		return nil, &Error{"watermark_order", "there are more rows than probe.max_rows, and the rows are not in the order of the watermark: add ORDER BY with the watermark's columns"}
	case res.More && j.raised == 0:
		return nil, &Error{"watermark_stuck", "the probe returns rows that are not above the watermark: compare its columns with their :wm_ parameters"}
	}
	if res.More {
		return j.rest()
	}
	return j.end(j.highest)
}

// end finishes the pass at the position.
func (j *eventJudge) end(position []row.Value) (*Result, error) {
	j.result.watermark = position
	if j.memory == nil {
		return &j.result, nil
	}
	j.result.watermark = higher(j.from, position)
	j.result.seen = j.memory.skipped
	change, err := j.memory.change(j.result.watermark, position, j.result.again)
	if err != nil {
		return nil, err
	}
	j.result.lookBack = change
	if j.result.again {
		j.result.resume = j.memory.resume(position, change)
	}
	return &j.result, nil
}

// isBelow tells whether a scan that began at the position has made progress but ended below the watermark. Then the
// probe has a LIMIT, or rows were deleted.
func (j *eventJudge) isBelow(begin []row.Value) bool {
	return j.memory != nil && compareMarks(begin, j.highest) < 0 && compareMarks(j.highest, j.from) < 0
}

// rest ends a pass that reached max_rows. rest leaves all rows of the highest watermark to the next pass. The probe may
// have more rows of that watermark than max_rows let through, and the next scan reads only above the pass's watermark.
func (j *eventJudge) rest() (*Result, error) {
	if j.raised == 1 {
		return nil, &Error{"watermark_tied", fmt.Sprintf("more than %d rows have the same watermark: raise probe.max_rows, or add a column to the watermark that tells them apart", j.maxRows)}
	}
	j.result.events = j.result.events[:j.below.events]
	j.result.run, j.result.step.Repeated = j.below.run, j.below.repeated
	j.result.again = true
	if j.memory != nil {
		j.memory.cut(j.below.seen)
	}
	return j.end(j.below.watermark)
}
