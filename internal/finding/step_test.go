package finding_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/finding"
)

var start = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// at is one run of a table test: what it sees, and which notices it makes.
type at struct {
	minute int
	seen   string // keys, one letter each; then a digit = priority (default 3), a capital = group, ! = errored
	failed bool
	noData bool
	want   string // notices as "fire a1" (kind, key, ordinal), comma separated
	counts string // pending/firing after the run
}

func TestStep(t *testing.T) {
	const m = time.Minute
	cases := []struct {
		name   string
		policy finding.Policy
		runs   []at
	}{
		{"the rule test of the design", finding.Policy{For: 10 * m, KeepFiringFor: 10 * m, Shortest: 5 * m}, []at{
			{minute: 0, seen: "a", counts: "1/0"},
			{minute: 5, failed: true, counts: "1/0"},
			{minute: 10, seen: "a", want: "fire a1", counts: "0/1"},
			{minute: 15, counts: "0/1"},
			{minute: 20, counts: "0/1"},
			{minute: 25, want: "resolve a1", counts: "0/0"},
		}},
		{"no for: fires at once, resolves at once, opens anew", finding.Policy{Shortest: 5 * m}, []at{
			{minute: 0, seen: "ab", want: "fire a1,fire b1", counts: "0/2"},
			{minute: 5, seen: "b", want: "resolve a1", counts: "0/1"},
			{minute: 10, seen: "ab", want: "fire a1", counts: "0/2"},
		}},
		{"pending and gone is silent, and starts from nothing", finding.Policy{For: 10 * m, Shortest: 5 * m}, []at{
			{minute: 0, seen: "a", counts: "1/0"},
			{minute: 5, counts: "0/0"},
			{minute: 10, seen: "a", counts: "1/0"},
			{minute: 15, seen: "a", counts: "1/0"},
			{minute: 20, seen: "a", want: "fire a1", counts: "0/1"},
		}},
		{"a night counts as one interval", finding.Policy{For: 10 * m, Shortest: 5 * m}, []at{
			{minute: 0, seen: "a", counts: "1/0"},
			{minute: 365, seen: "a", counts: "1/0"},
			{minute: 370, seen: "a", want: "fire a1", counts: "0/1"},
		}},
		{"back within keep_firing_for: same episode, not told", finding.Policy{KeepFiringFor: 10 * m, Shortest: 5 * m}, []at{
			{minute: 0, seen: "a", want: "fire a1", counts: "0/1"},
			{minute: 5, counts: "0/1"},
			{minute: 9, seen: "a", counts: "0/1"},
			{minute: 14, counts: "0/1"},
			{minute: 19, counts: "0/1"},
			{minute: 24, want: "resolve a1", counts: "0/0"},
		}},
		{"keep_firing_for counts from the first run without it, over failed ones", finding.Policy{KeepFiringFor: 10 * m, Shortest: 5 * m}, []at{
			{minute: 0, seen: "a", want: "fire a1", counts: "0/1"},
			{minute: 5, failed: true, counts: "0/1"},
			{minute: 10, counts: "0/1"},
			{minute: 15, failed: true, counts: "0/1"},
			{minute: 20, want: "resolve a1", counts: "0/0"},
		}},
		{"keep_firing_for of one interval outlasts one run without it", finding.Policy{KeepFiringFor: 5 * m, Shortest: 5 * m}, []at{
			{minute: 0, seen: "a", want: "fire a1", counts: "0/1"},
			{minute: 5, counts: "0/1"},
			{minute: 10, seen: "a", counts: "0/1"},
			{minute: 15, counts: "0/1"},
			{minute: 20, want: "resolve a1", counts: "0/0"},
		}},
		{"a night counts as one interval of keep_firing_for", finding.Policy{KeepFiringFor: 10 * m, Shortest: 5 * m}, []at{
			{minute: 0, seen: "a", want: "fire a1", counts: "0/1"},
			{minute: 5, counts: "0/1"},
			{minute: 365, counts: "0/1"},
			{minute: 370, want: "resolve a1", counts: "0/0"},
		}},
		{"reminders count up, absence does not remind", finding.Policy{KeepFiringFor: 60 * m, RepeatInterval: 10 * m, Shortest: 5 * m}, []at{
			{minute: 0, seen: "a", want: "fire a1", counts: "0/1"},
			{minute: 5, seen: "a", counts: "0/1"},
			{minute: 10, seen: "a", want: "remind a2", counts: "0/1"},
			{minute: 25, counts: "0/1"},
			{minute: 30, seen: "a", want: "remind a3", counts: "0/1"},
		}},
		{"a rise is told at once, a fall is not", finding.Policy{RepeatInterval: 10 * m, Shortest: 5 * m}, []at{
			{minute: 0, seen: "a2", want: "fire a1", counts: "0/1"},
			{minute: 5, seen: "a4", want: "rise a2", counts: "0/1"},
			{minute: 10, seen: "a2", counts: "0/1"},
			{minute: 12, seen: "a4", counts: "0/1"}, // no higher than in the last notice
			{minute: 15, seen: "a2", want: "remind a3", counts: "0/1"},
			{minute: 20, seen: "a3", want: "rise a4", counts: "0/1"},
		}},
		{"a priority that rises while pending is told when it fires", finding.Policy{For: 5 * m, Shortest: 5 * m}, []at{
			{minute: 0, seen: "a2", counts: "1/0"},
			{minute: 5, seen: "a5", want: "fire a1", counts: "0/1"},
			{minute: 10, seen: "a5", counts: "0/1"},
		}},
		{"an errored row leaves its finding alone", finding.Policy{Shortest: 5 * m}, []at{
			{minute: 0, seen: "ab", want: "fire a1,fire b1", counts: "0/2"},
			{minute: 5, seen: "a!c!", want: "resolve b1", counts: "0/1"},
			{minute: 10, seen: "", want: "resolve a1", counts: "0/0"},
		}},
		{"an errored row keeps a pending one, whose time goes on", finding.Policy{For: 10 * m, Shortest: 5 * m}, []at{
			{minute: 0, seen: "a", counts: "1/0"},
			{minute: 5, seen: "a!", counts: "1/0"},
			{minute: 10, seen: "a", want: "fire a1", counts: "0/1"},
		}},
		{"no data: ok resolves", finding.Policy{Shortest: 5 * m}, []at{
			{minute: 0, seen: "a", want: "fire a1", counts: "0/1"},
			{minute: 5, noData: true, want: "resolve a1", counts: "0/0"},
		}},
		{"no data: keep_last keeps, rows of others resolve", finding.Policy{KeepLast: true, For: 5 * m, KeepFiringFor: 10 * m, Shortest: 5 * m}, []at{
			{minute: 0, seen: "ab", counts: "2/0"},
			{minute: 5, seen: "a", want: "fire a1", counts: "0/1"},
			{minute: 10, noData: true, counts: "0/1"},
			{minute: 20, noData: true, counts: "0/1"},
			{minute: 25, counts: "0/1"}, // the first run that reads rows but none of this finding
			{minute: 30, counts: "0/1"},
			{minute: 35, want: "resolve a1", counts: "0/0"},
		}},
		{"the first of a repeated key counts", finding.Policy{Shortest: 5 * m}, []at{
			{minute: 0, seen: "a2a5", want: "fire a1", counts: "0/1"},
			{minute: 5, seen: "a3a5", want: "rise a2", counts: "0/1"},
			{minute: 10, seen: "a!a5", counts: "0/1"},
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(c.policy)
			for _, r := range c.runs {
				res, got := w.run(start.Add(time.Duration(r.minute)*time.Minute), parseSeen(r.seen), r.failed, r.noData)
				if got != r.want {
					t.Errorf("minute %d: told %q, want %q", r.minute, got, r.want)
				}
				if got := fmt.Sprintf("%d/%d", res.Pending, res.Firing); got != r.counts {
					t.Errorf("minute %d: pending/firing %s, want %s", r.minute, got, r.counts)
				}
			}
		})
	}
}

func TestEpisodeIsTheFiringThatOpenedIt(t *testing.T) {
	w := newWorld(finding.Policy{For: 5 * time.Minute, KeepFiringFor: 10 * time.Minute, RepeatInterval: 5 * time.Minute, Shortest: 5 * time.Minute})
	a := parseSeen("a")
	w.run(start, a, false, false)
	if ep := w.states["a"].Episode; !ep.Equal(start) {
		t.Errorf("pending: episode %v", ep)
	}
	opened := start.Add(5 * time.Minute)
	for minute := 5; minute <= 25; minute += 5 {
		seen := a
		if minute == 15 {
			seen = nil
		}
		w.run(start.Add(time.Duration(minute)*time.Minute), seen, false, false)
		if ep := w.states["a"].Episode; !ep.Equal(opened) {
			t.Errorf("minute %d: episode %v, want %v", minute, ep, opened)
		}
	}
	for _, after := range []time.Duration{30 * time.Minute, 35 * time.Minute, 40 * time.Minute} {
		w.run(start.Add(after), nil, false, false)
	}
	w.run(start.Add(45*time.Minute), a, false, false)
	w.run(start.Add(50*time.Minute), a, false, false)
	if st := w.states["a"]; !st.Episode.Equal(start.Add(50*time.Minute)) || st.Ordinal != 1 {
		t.Errorf("after a resolution: %+v, want a new episode", st)
	}
}

func TestOngoingFindingsCostNoWrite(t *testing.T) {
	w := newWorld(finding.Policy{For: time.Hour, RepeatInterval: 4 * time.Hour, Shortest: 5 * time.Minute})
	w.run(start, parseSeen("abc"), false, false)
	for i := 1; i < 12; i++ {
		if res, _ := w.run(start.Add(time.Duration(i)*5*time.Minute), parseSeen("abc"), false, false); len(res.Changes) != 0 {
			t.Fatalf("run %d changed %v", i, res.Changes)
		}
	}
	if res, _ := w.run(start.Add(time.Hour), parseSeen("abc"), false, false); len(res.Changes) != 3 {
		t.Fatalf("after an hour: %v", res.Changes)
	}
}

// world keeps the data that a ledger keeps.
type world struct {
	policy finding.Policy
	scope  finding.Scope
	states map[string]finding.State
}

func newWorld(p finding.Policy) *world { return &world{policy: p, states: map[string]finding.State{}} }

func (w *world) list() []finding.State {
	var states []finding.State
	for _, st := range w.states {
		states = append(states, st)
	}
	slices.SortFunc(states, func(a, b finding.State) int { return len(a.Key) - len(b.Key) })
	return states
}

func (w *world) run(due time.Time, seen []finding.SeenRow, failed, noData bool) (res finding.Result, told string) {
	if failed {
		res = finding.Fail(w.scope, w.list(), w.policy, due)
	} else {
		res = finding.Step(w.scope, w.list(), seen, noData, w.policy, due)
	}
	told = tells(&res)
	w.apply(res)
	return res, told
}

func (w *world) apply(res finding.Result) {
	w.scope = res.Scope
	for _, c := range res.Changes {
		if c.Op == finding.Delete {
			delete(w.states, c.Key)
		} else {
			w.states[c.Key] = c.State
		}
	}
}

func parseSeen(text string) []finding.SeenRow {
	var seen []finding.SeenRow
	for i := range len(text) {
		last := len(seen) - 1
		switch c := text[i]; {
		case c == '!':
			seen[last].Errored = true
		case c >= '1' && c <= '5':
			seen[last].Priority = int(c - '0')
		case c >= 'A' && c <= 'Z':
			seen[last].Group = string(c)
		default:
			seen = append(seen, finding.SeenRow{Key: string(c), Priority: 3})
		}
	}
	return seen
}

// tells gives every notice of the run a readable id, and returns the notices and resolutions.
func tells(res *finding.Result) string {
	names := map[finding.Kind]string{finding.Fire: "fire", finding.Remind: "remind", finding.Rise: "rise", finding.Join: "join", finding.Differ: "differ"}
	var parts []string
	for _, tell := range res.Tells {
		st := res.State(tell)
		id := fmt.Sprintf("%s%d", cmp.Or(tell.Group, st.Key), st.Ordinal)
		text := names[tell.Kind] + " " + id
		if tell.Group != "" {
			text += fmt.Sprintf("x%d", tell.Count())
		}
		res.Told(tell, id, time.Time{})
		parts = append(parts, text)
	}
	for _, id := range res.Over() {
		parts = append(parts, "resolve "+id)
	}
	return strings.Join(parts, ",")
}
