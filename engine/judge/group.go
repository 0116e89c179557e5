package judge

import (
	"fmt"

	"tallyman/internal/finding"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// groupJudge turns the rows of a rule with group_by into findings and groups. It keeps those that meet the condition, since
// the words of a group are made of all its rows.
type groupJudge struct {
	program *rules.Program
	pass    *Pass
	maxRows int
	step    *finding.Run
	rows    []*row.Row // as the step counts them
	json    rowJSON
	budget  Budget
	result  Result
}

func newGroupJudge(p *Pass, known *Snapshot) *groupJudge {
	return &groupJudge{
		program: p.Program,
		pass:    p,
		maxRows: p.Rule.Probe.MaxRows,
		step:    finding.Begin(known.Scope, known.findings, p.Policy, p.Due),
	}
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
		j.step.Err(key)
		j.result.errored(key, err)
		return j.budget.Spend(len(key))
	}
	j.result.run.Matched++
	if j.step.Join(key, group, priority) {
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

// draft makes the words of a group. One that has none is not told: the run is degraded and says why, and the next one
// tries again.
func (j *groupJudge) draft(g *finding.Group) error {
	rows := make([]*row.Row, len(g.Rows))
	for i, at := range g.Rows {
		rows[i] = j.rows[at]
	}
	draft, err := j.program.DraftGroup(rows)
	if err == nil {
		if by := j.pass.silenced(draft); by != "" {
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

// keepRows keeps each member's own row.
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
