package judge

import (
	"fmt"

	"tallyman/internal/finding"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// findingJudge is the common part of the judges that turn rows into findings.
type findingJudge struct {
	program *rules.Program
	pass    *Pass
	maxRows int
	step    *finding.Run
	json    rowJSON
	budget  Budget
	result  Result
}

func newFindingJudge(p *Pass, known *Snapshot) findingJudge {
	return findingJudge{
		program: p.Program,
		pass:    p,
		maxRows: p.Rule.Probe.MaxRows,
		step:    finding.Begin(known.Scope, known.findings, p.Policy, p.Due),
	}
}

// errored counts a row that cannot be judged.
func (j *findingJudge) errored(r *row.Row, err error) error {
	key := j.program.Key(r)
	j.step.Err(key)
	j.result.errored(key, err)
	return j.budget.Spend(len(key))
}

// stateJudge turns the rows of a rule of mode state into findings. A row that does not meet the condition costs no
// allocation. Only a row whose finding gets a notice is rendered.
type stateJudge struct{ findingJudge }

func newStateJudge(p *Pass, known *Snapshot) *stateJudge {
	return &stateJudge{newFindingJudge(p, known)}
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
	verdict := j.step.Look(finding.SeenRow{Key: key, Priority: priority, Watched: j.program.Watched(r)})
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
		changed = j.notify(key, verdict, draft)
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

// notify records that the row's finding gets a notice, unless a silence withholds the notice.
func (j *stateJudge) notify(key string, verdict finding.Verdict, draft *rules.NoticeDraft) (changed bool) {
	if by := j.pass.silenced(key, draft); by != "" {
		return j.step.Hold(verdict, by)
	}
	j.result.drafts = append(j.result.drafts, draft)
	return j.step.See(verdict)
}

func (j *stateJudge) finish(res scanners.Result) (*Result, error) {
	if res.More {
		return nil, tooManyRows(j.maxRows)
	}
	j.result.step = j.step.Finish(res.Rows == 0)
	return &j.result, nil
}

// groupJudge turns the rows of a rule with group_by into findings and groups. groupJudge keeps the rows that meet the
// condition, because the text of a group is made of all its rows.
type groupJudge struct {
	findingJudge

	rows []*row.Row // Group.Rows has indices into this list.
}

func newGroupJudge(p *Pass, known *Snapshot) *groupJudge {
	return &groupJudge{findingJudge: newFindingJudge(p, known)}
}

func (j *groupJudge) visit(r *row.Row) error {
	matches, err := j.program.Match(r)
	if err == nil && !matches {
		return nil
	}
	priority := 0
	if err == nil {
		priority, err = j.program.Priority(r)
	}
	key := j.program.Key(r)
	group := j.program.Group(r)
	if err == nil && max(len(key), len(group)) > longestKey {
		err = errLongKey
	}
	if err != nil {
		return j.errored(r, err)
	}
	j.result.run.Matched++
	if j.step.Join(finding.SeenRow{Key: key, Group: group, Priority: priority, Watched: j.program.Watched(r)}) {
		AddSample(&j.result.run, "repeated key "+short(key))
		return nil
	}
	j.rows = append(j.rows, r.Clone())
	return j.budget.Spend(len(key) + len(group) + r.Size())
}

func (j *groupJudge) finish(res scanners.Result) (*Result, error) {
	if res.More {
		return nil, tooManyRows(j.maxRows)
	}
	for _, g := range j.step.Groups() {
		if err := j.draft(g); err != nil {
			return nil, err
		}
	}
	j.result.step = j.step.Finish(res.Rows == 0)
	j.keepRows()
	return &j.result, nil
}

// draft makes the text of a group's notice. A group whose text fails gets no notice: the run is degraded with the
// reason, and the next run tries again.
func (j *groupJudge) draft(g *finding.Group) error {
	rows := make([]*row.Row, len(g.Rows))
	for i, at := range g.Rows {
		rows[i] = j.rows[at]
	}
	draft, err := j.program.DraftGroup(rows)
	if err == nil {
		if by := j.pass.silenced(g.Key, draft); by != "" {
			j.step.HoldGroup(g, by)
		} else {
			j.result.drafts = append(j.result.drafts, draft)
		}
		return j.budget.Spend(draft.Size())
	}
	j.step.Untold(g)
	j.result.run.Matched -= len(rows)
	j.result.run.Errored += len(rows)
	AddSample(&j.result.run, fmt.Sprintf("group %s of %d: %v", short(g.Key), len(rows), err))
	return nil
}

// keepRows stores with each changed finding the row of that finding.
func (j *groupJudge) keepRows() {
	at := make(map[string]int, len(j.rows))
	for i, r := range j.rows {
		at[j.program.Key(r)] = i
	}
	j.result.rows = make([][]byte, len(j.result.step.Changes))
	for i, c := range j.result.step.Changes {
		if n, seen := at[c.Key]; seen {
			j.result.rows[i] = j.json.encode(j.rows[n])
		}
	}
}

// resultKey is the key of the one finding of a rule with per: result.
const resultKey = "[]"

// resultJudge makes one finding of all rows. No row is stored with the finding, because the finding is about all of
// them.
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
	verdict := j.step.Look(finding.SeenRow{Key: resultKey, Priority: priority})
	if verdict.Kind == finding.None {
		j.step.See(verdict)
	} else {
		draft, err := j.program.DraftResult(j.rows)
		if err != nil {
			return err
		}
		if by := j.pass.silenced(resultKey, draft); by != "" {
			j.step.Hold(verdict, by)
		} else {
			j.result.drafts = append(j.result.drafts, draft)
			j.step.See(verdict)
		}
	}
	j.result.run.Matched = len(j.rows)
	return nil
}
