package finding_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/finding"
)

// groupModel is the model for a rule that groups: members live like findings, and notices are about groups.
type groupModel struct {
	model
	groupOf map[string]string // group of each open finding
	groups  map[string]*modelGroup
}

type modelGroup struct {
	opened   time.Time
	told     time.Time
	priority int
	ordinal  int
}

// firing counts the firing members of each group.
func (m *groupModel) firing() map[string]int {
	count := map[string]int{}
	for key, f := range m.open {
		if f.firing {
			count[m.groupOf[key]]++
		}
	}
	return count
}

// run judges a run. No notice can be made of the groups in broken.
func (m *groupModel) run(r modelRun, broken map[string]bool) (told, resolved []string) {
	m.history = append(m.history, r)
	if r.failed || r.noData && m.policy.KeepLast {
		return nil, nil
	}
	before := m.firing()
	rows := m.first(r)
	fires := func(key string) bool {
		f := m.open[key]
		return f == nil && m.policy.For == 0 || f != nil && (f.firing || m.observed(f.first) >= m.policy.For)
	}
	joins := func(key string) bool {
		f := m.open[key]
		return fires(key) && (f == nil || !f.firing || m.groupOf[key] != rows[key].Group)
	}
	kinds, highest, differ := map[string]string{}, map[string]int{}, map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if row := rows[key]; !row.Errored && fires(key) {
			highest[row.Group] = max(highest[row.Group], row.Priority)
			if joins(key) {
				kinds[row.Group] = "join"
			} else if row.Watched != m.open[key].watched {
				differ[row.Group] = true
			}
		}
	}
	for g, priority := range highest {
		kinds[g] = m.why(g, kinds[g], priority, before[g] > 0, differ[g], r.due)
	}
	for key, row := range rows {
		if row.Errored || joins(key) && broken[row.Group] {
			continue
		}
		m.see(key, row, fires(key))
	}
	m.miss(rows)
	after := m.firing()
	for _, g := range slices.Sorted(maps.Keys(kinds)) {
		if kinds[g] != "" && !broken[g] {
			for key, row := range rows {
				if f := m.open[key]; row.Group == g && !row.Errored && f.firing {
					f.watched = row.Watched
				}
			}
			told = append(told, fmt.Sprintf("%s %s%dx%d", kinds[g], g, m.tell(g, kinds[g], highest[g], r.due), after[g]))
		}
	}
	for g := range before {
		if after[g] == 0 {
			resolved = append(resolved, fmt.Sprintf("resolve %s%d", g, m.groups[g].ordinal))
			delete(m.groups, g)
		}
	}
	slices.Sort(resolved)
	return told, resolved
}

// first returns the rows that count: the first row of each key.
func (m *groupModel) first(r modelRun) map[string]finding.SeenRow {
	rows := map[string]finding.SeenRow{}
	for _, row := range r.seen {
		if _, repeated := rows[row.Key]; !repeated {
			rows[row.Key] = row
		}
	}
	return rows
}

func (m *groupModel) why(g, joined string, priority int, fired, differs bool, due time.Time) string {
	switch {
	case !fired:
		return "fire"
	case joined != "":
		return joined
	case priority > m.groups[g].priority:
		return "rise"
	case differs:
		return "differ"
	case m.policy.RepeatInterval > 0 && due.Sub(m.groups[g].told) >= m.policy.RepeatInterval:
		return "remind"
	}
	return ""
}

func (m *groupModel) see(key string, row finding.SeenRow, fires bool) {
	f := m.open[key]
	if f == nil {
		f = &modelFinding{first: len(m.history) - 1}
		m.open[key] = f
	}
	f.missing, f.firing = false, fires
	m.groupOf[key] = row.Group
}

func (m *groupModel) miss(rows map[string]finding.SeenRow) {
	for key, f := range m.open {
		if _, seen := rows[key]; seen {
			continue
		}
		if !f.missing {
			f.missing, f.missed = true, len(m.history)-1
		}
		if !f.firing || m.observed(f.missed) >= m.policy.KeepFiringFor {
			delete(m.open, key)
			delete(m.groupOf, key)
		}
	}
}

func (m *groupModel) tell(g, kind string, priority int, due time.Time) (ordinal int) {
	if kind == "fire" {
		m.groups[g] = &modelGroup{opened: due}
	}
	group := m.groups[g]
	group.ordinal++
	group.told, group.priority = due, priority
	return group.ordinal
}

func TestGroupsAgreeWithTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minutes := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Minute
		}
		policy := finding.Policy{
			For: minutes("for", 12), KeepFiringFor: minutes("keep", 20), RepeatInterval: minutes("repeat", 30),
			Shortest: 5 * time.Minute, KeepLast: rapid.Bool().Draw(t, "keep_last"),
		}
		w := newWorld(policy)
		m := &groupModel{
			model:   model{policy: policy, open: map[string]*modelFinding{}},
			groupOf: map[string]string{}, groups: map[string]*modelGroup{},
		}
		due := start
		for i := range rapid.IntRange(1, 30).Draw(t, "runs") {
			due = due.Add(5*time.Minute + time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 7, 360}).Draw(t, "late"))*time.Minute)
			r := modelRun{due: due, failed: rapid.IntRange(0, 5).Draw(t, "fails") == 0, seen: membersGen.Draw(t, "seen")}
			if r.noData = len(r.seen) == 0 && rapid.Bool().Draw(t, "no data"); r.failed {
				r.seen = nil
			}
			broken := map[string]bool{"X": rapid.IntRange(0, 5).Draw(t, "X breaks") == 0}
			told, resolved := m.run(r, broken)
			res, got := w.groups(r, broken)
			if want := strings.Join(append(told, resolved...), ","); got != want {
				t.Fatalf("run %d told %q, want %q", i, got, want)
			}
			checkGroups(t, w, m, res)
		}
	})
}

var membersGen = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) finding.SeenRow {
	return finding.SeenRow{
		Key:      rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key"),
		Group:    rapid.SampledFrom([]string{"X", "X", "X", "Y", "Z"}).Draw(t, "group"),
		Priority: rapid.IntRange(1, 5).Draw(t, "priority"),
		Watched:  "bin " + rapid.SampledFrom([]string{"A", "A", "A", "B"}).Draw(t, "watched"),
		Errored:  rapid.IntRange(0, 6).Draw(t, "errs") == 0,
	}
}), 0, 5)

// groups is run, with groups of which no notice can be made. The resolutions are sorted.
func (w *world) groups(r modelRun, broken map[string]bool) (finding.Result, string) {
	if r.failed {
		return w.run(r.due, nil, true, false)
	}
	run := finding.Begin(w.scope, w.list(), w.policy, r.due)
	for _, row := range r.seen {
		if row.Errored {
			run.Err(row.Key)
		} else {
			run.Join(row)
		}
	}
	for _, g := range run.Groups() {
		if broken[g.Key] {
			run.Untold(g)
		}
	}
	res := run.Finish(r.noData)
	parts := strings.Split(tells(&res), ",")
	first := len(res.Tells)
	slices.Sort(parts[first:])
	w.apply(res)
	return res, strings.Join(parts, ",")
}

// checkGroups compares the whole state after a run: every firing member has the state of its group's last notice.
func checkGroups(t *rapid.T, w *world, m *groupModel, res finding.Result) {
	pending, firing := 0, 0
	for key, f := range m.open {
		st, ok := w.states[key]
		if !ok || st.Group != m.groupOf[key] {
			t.Fatalf("finding %s is %+v, want it in %s", key, st, m.groupOf[key])
		}
		if !f.firing {
			pending++
			continue
		}
		firing++
		g := m.groups[m.groupOf[key]]
		id := fmt.Sprintf("%s%d", st.Group, g.ordinal)
		if !st.Episode.Equal(g.opened) || st.Priority != g.priority || st.Ordinal != g.ordinal || !st.LastNotified.Equal(g.told) || st.NoticeID != id || st.Watched != f.watched {
			t.Fatalf("finding %s is %+v, want %+v", key, st, g)
		}
	}
	if len(w.states) != len(m.open) || res.Pending != pending || res.Firing != firing {
		t.Fatalf("%d findings, %d pending, %d firing; want %d, %d, %d", len(w.states), res.Pending, res.Firing, len(m.open), pending, firing)
	}
}
