package preview

import (
	"fmt"
	"slices"

	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/condition"
	"tallyman/rules/row"
)

// rows judges each row as the run did, and returns the keys that it saw. Where the report cannot list all rows, it
// lists first the rows that met the condition or could not be judged.
func (v *view) rows() (seen map[string]bool, err error) {
	j := &rowLister{view: v, program: v.trial.Program(), seen: map[string]bool{}, events: map[string][]*notice.Notice{}, digests: map[string][]string{}}
	j.program.SetNow(v.req.Due)
	if v.req.Rule.Per == rules.PerResult {
		return j.result()
	}
	if j.parts, err = condition.NewParts(v.req.Rule.When, v.columns); err != nil {
		return nil, err
	}
	j.parts.SetNow(v.req.Due)
	for _, made := range v.made {
		n := made.Notice
		if notice.IsDigest(n.ID) {
			j.digests[n.Warehouse] = append(j.digests[n.Warehouse], slices.Repeat([]string{n.ID}, n.Count)...)
		} else {
			j.events[n.Key] = append(j.events[n.Key], n)
		}
	}
	judged := make([]Judgement, len(v.run.Rows))
	telling := make([]bool, len(v.run.Rows))
	for i, r := range v.run.Rows {
		judged[i] = j.judge(r)
		telling[i] = judged[i].Match || judged[i].Error != ""
	}
	for _, i := range v.pick(telling) {
		if r := v.run.Rows[i]; !telling[i] && judged[i].Fate == "" {
			outcomes, _ := j.parts.Outcomes(r)
			judged[i].Because = because(j.parts.List(), outcomes)
		}
		v.report.Rows = append(v.report.Rows, Row{Number: i + 1, Values: values(v.run.Rows[i].Values), Judgement: judged[i]})
	}
	return j.seen, nil
}

// pick chooses the rows that the report lists, in the order of the probe. Where the report cannot list all rows, pick
// prefers the rows whose telling is true.
func (v *view) pick(telling []bool) []int {
	var first, rest []int
	for i, t := range telling {
		if t {
			first = append(first, i)
		} else {
			rest = append(rest, i)
		}
	}
	list := append(first, rest...)
	if most := v.req.Limit; most > 0 && len(list) > most {
		v.report.LeftOut.Rows = len(list) - most
		list = list[:most]
	}
	slices.Sort(list)
	return list
}

// rowLister repeats the run's judgement for single rows.
type rowLister struct {
	*view
	program *rules.Program
	parts   *condition.Parts
	seen    map[string]bool
	events  map[string][]*notice.Notice // Mode event: the notices that no row was matched to yet, keyed by key.
	// Mode event: the ids of digests by warehouse. Each id is listed once per row that is still to be matched to it.
	digests map[string][]string
}

func (j *rowLister) judge(r *row.Row) Judgement {
	if j.remembers != nil && j.remembers(r) {
		return Judgement{Key: j.program.Key(r), Life: Life{Fate: SeenBefore}}
	}
	matches, err := j.program.Match(r)
	key := j.program.Key(r)
	if err != nil {
		return j.failed(key, err)
	}
	if !matches {
		return Judgement{}
	}
	if j.seen[key] && j.req.Rule.Mode == rules.ModeState {
		return Judgement{Match: true, Key: key, Life: Life{Fate: Repeated}}
	}
	if _, err := j.program.Priority(r); err != nil {
		return j.failed(key, err)
	}
	draft, err := j.program.Draft(r)
	if j.req.Rule.Mode == rules.ModeEvent {
		return j.event(key, draft, err)
	}
	life := j.lives.of(key)
	// The row meets the condition, but its notice cannot be written.
	if life.Fate == "" || err != nil && life.Fate == Dropped {
		return j.failed(key, err)
	}
	j.seen[key] = true
	judgement := Judgement{Match: true, Key: key, Life: life}
	if err != nil {
		judgement.Error = "no notice can be made: " + err.Error()
	}
	return judgement
}

// result judges a rule with per: result. result lists the rows without a judgement, and one judgement for all of them.
func (j *rowLister) result() (seen map[string]bool, err error) {
	out := Judgement{Key: resultKey, Life: j.lives.of(resultKey)}
	if out.Match, err = j.program.MatchResult(j.run.Rows); err != nil {
		out.Error = err.Error()
	} else if !out.Match {
		parts, err := condition.NewResultParts(j.req.Rule.When, j.columns)
		if err != nil {
			return nil, err
		}
		parts.SetNow(j.req.Due)
		outcomes, _ := parts.ResultOutcomes(j.run.Rows)
		out.Because = because(parts.List(), outcomes)
	}
	j.report.Result = &out
	for _, i := range j.pick(make([]bool, len(j.run.Rows))) {
		j.report.Rows = append(j.report.Rows, Row{Number: i + 1, Values: values(j.run.Rows[i].Values)})
	}
	return map[string]bool{resultKey: true}, nil
}

// resultKey is the key of the one finding of a rule with per: result.
const resultKey = "[]"

// failed returns the judgement of a row that could not be judged. Its finding stays as it was.
func (j *rowLister) failed(key string, err error) Judgement {
	j.seen[key] = true
	out := Judgement{Key: key, Life: Life{Fate: Untouched}}
	if err != nil {
		out.Error = err.Error()
	} else {
		out.Error = "the run left it out; its samples say why"
	}
	return out
}

// event returns the judgement of a row of mode event that meets the condition.
func (j *rowLister) event(key string, draft *rules.NoticeDraft, err error) Judgement {
	if err != nil {
		return j.failed(key, err)
	}
	j.seen[key] = true
	if j.isBaseline() {
		return Judgement{Match: true, Key: key, Life: Life{Fate: Baseline}}
	}
	life := Life{Fate: Repeated}
	if left := j.events[key]; len(left) > 0 {
		life = Life{Fate: Event, Notice: left[0].ID}
		if j.known[left[0].ID] {
			life.Fate = KnownEvent
		}
		j.events[key] = left[1:]
	} else if left := j.digests[draft.Warehouse]; len(left) > 0 {
		life = Life{Fate: Event, Notice: left[0], In: "digest"}
		j.digests[draft.Warehouse] = left[1:]
	}
	return Judgement{Match: true, Key: key, Life: life}
}

// mostReasons is the largest number of parts of a condition that because names.
const mostReasons = 4

// because names the parts of a condition that explain why a row does not meet the condition. because descends from the
// whole condition to the smallest parts that were not true.
func because(list []condition.Part, outcomes []condition.Outcome) []string {
	var reasons []string
	var explain func(i int)
	explain = func(i int) {
		below := slices.DeleteFunc(children(list, i), func(k int) bool {
			return outcomes[k] != condition.False && outcomes[k] != condition.Null
		})
		if len(below) == 0 {
			reasons = append(reasons, fmt.Sprintf("%s is %s", list[i].Text, outcomes[i]))
		}
		for _, k := range below {
			explain(k)
		}
	}
	explain(0)
	if len(reasons) > mostReasons {
		reasons = append(reasons[:mostReasons], fmt.Sprintf("and %d more", len(reasons)-mostReasons))
	}
	return reasons
}

// children returns the indices of the direct parts of part i.
func children(list []condition.Part, i int) []int {
	var direct []int
	for k := i + 1; k < len(list) && list[k].Depth > list[i].Depth; k++ {
		if list[k].Depth == list[i].Depth+1 {
			direct = append(direct, k)
		}
	}
	return direct
}
