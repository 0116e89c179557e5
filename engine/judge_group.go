package engine

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
	pass    *pass
	maxRows int
	step    *finding.Run
	rows    []*row.Row // as the step counts them
	json    rowJSON
	kept    kept
	found   found
}

func newGroupJudge(p *pass, known *before) *groupJudge {
	return &groupJudge{
		program: p.ready.program,
		pass:    p,
		maxRows: p.rule.Probe.MaxRows,
		step:    finding.Begin(known.Scope, known.findings, p.policy, p.due),
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
		j.found.errored(key, err)
		return j.kept.add(len(key))
	}
	j.found.run.Matched++
	if j.step.Join(key, group, priority) {
		sample(&j.found.run, "repeated key "+short(key))
		return nil
	}
	j.rows = append(j.rows, r.Clone())
	return j.kept.add(len(key) + len(group) + r.Size())
}

func (j *groupJudge) finish(res scanners.Result) (*found, error) {
	if res.More {
		return nil, tooManyRows(j.maxRows)
	}
	for _, g := range j.step.Groups() {
		if err := j.draft(g); err != nil {
			return nil, err
		}
	}
	j.found.step = j.step.Finish(res.Rows == 0)
	j.keepRows()
	return &j.found, nil
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
			j.found.drafts = append(j.found.drafts, draft)
		}
		return j.kept.add(draft.Size())
	}
	j.step.Untold(g)
	j.found.run.Matched -= len(rows)
	j.found.run.Errored += len(rows)
	sample(&j.found.run, fmt.Sprintf("group %s of %d: %v", short(g.Key), len(rows), err))
	return nil
}

// keepRows keeps each member's own row.
func (j *groupJudge) keepRows() {
	at := make(map[string]int, len(j.rows))
	for i, r := range j.rows {
		at[j.program.Key(r)] = i
	}
	j.found.rows = make([][]byte, len(j.found.step.Changes))
	for i, c := range j.found.step.Changes {
		if n, seen := at[c.Key]; seen {
			j.found.rows[i] = j.json.encode(j.rows[n])
		}
	}
}
