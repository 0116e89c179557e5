package finding_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/finding"
)

// TestBaseline follows rules whose first run takes all rows as known.
func TestBaseline(t *testing.T) {
	const m = time.Minute
	baseline := func(p finding.Policy) finding.Policy {
		p.Baseline, p.Shortest = true, 5*m
		return p
	}
	cases := []struct {
		name   string
		policy finding.Policy
		runs   []at
	}{
		{"what was there is not told, nor is its end", finding.Policy{RepeatInterval: 5 * m}, []at{
			{minute: 0, seen: "ab", counts: "0/2"},
			{minute: 5, seen: "abc", want: "fire c1", counts: "0/3"},
			{minute: 10, seen: "b", want: "resolve c1", counts: "0/1"},
			{minute: 15, seen: "ab", want: "fire a1", counts: "0/2"},
			{minute: 20, seen: "", want: "resolve a1", counts: "0/0"},
		}},
		{"a higher priority is news, and the finding lives as any other from then on", finding.Policy{RepeatInterval: 10 * m}, []at{
			{minute: 0, seen: "a2", counts: "0/1"},
			{minute: 5, seen: "a1", counts: "0/1"},
			{minute: 10, seen: "a4", want: "rise a1", counts: "0/1"},
			{minute: 20, seen: "a4", want: "remind a2", counts: "0/1"},
			{minute: 25, want: "resolve a2", counts: "0/0"},
		}},
		{"those that waited for `for` at the first run fire without a word", finding.Policy{For: 10 * m}, []at{
			{minute: 0, seen: "a", counts: "1/0"},
			{minute: 5, seen: "ab", counts: "2/0"},
			{minute: 10, seen: "ab", counts: "1/1"},
			{minute: 15, seen: "ab", want: "fire b1", counts: "0/2"},
		}},
		{"a failed run is not the first, nor is one without data where that is no answer", finding.Policy{KeepLast: true}, []at{
			{minute: 0, failed: true, counts: "0/0"},
			{minute: 5, noData: true, counts: "0/0"},
			{minute: 10, seen: "a", counts: "0/1"},
			{minute: 15, seen: "ab", want: "fire b1", counts: "0/2"},
		}},
		{"a first run without rows has an empty baseline", finding.Policy{}, []at{
			{minute: 0, noData: true, counts: "0/0"},
			{minute: 5, seen: "a", want: "fire a1", counts: "0/1"},
		}},
		{"a row that could not be judged at first is no part of the baseline", finding.Policy{}, []at{
			{minute: 0, seen: "a!b", counts: "0/1"},
			{minute: 5, seen: "ab", want: "fire a1", counts: "0/2"},
		}},
		{"a group is told when another row joins it", finding.Policy{RepeatInterval: 5 * m}, []at{
			{minute: 0, seen: "aXbXcY", counts: "0/3"},
			{minute: 5, seen: "aXbXcY", counts: "0/3"},
			{minute: 10, seen: "aXbXdXcY", want: "join X1x3", counts: "0/4"},
			{minute: 15, seen: "aX", want: "remind X2x1", counts: "0/1"},
			{minute: 20, want: "resolve X2", counts: "0/0"},
		}},
		{"a group is told when its highest priority rises, and not when a known member fires", finding.Policy{For: 5 * m}, []at{
			{minute: 0, seen: "a2Xb4X", counts: "2/0"},
			{minute: 5, seen: "a2Xb4Xc1X", counts: "1/2"},
			{minute: 10, seen: "a2Xb4X", counts: "0/2"},
			{minute: 15, seen: "a4Xb4X", counts: "0/2"},
			{minute: 20, seen: "a5Xb4X", want: "rise X1x2", counts: "0/2"},
		}},
		{"a known row that comes to another group is news there", finding.Policy{}, []at{
			{minute: 0, seen: "aXbY", counts: "0/2"},
			{minute: 5, seen: "aYbY", want: "join Y1x2", counts: "0/2"},
			{minute: 10, want: "resolve Y1", counts: "0/0"},
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(baseline(c.policy))
			for _, r := range c.runs {
				res, got := w.run(start.Add(time.Duration(r.minute)*m), parseSeen(r.seen), r.failed, r.noData)
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

// A known row joins another group while a silence holds that group back. Its group gets a notice when the silence is
// over.
func TestBaselineGroupHeldBack(t *testing.T) {
	w := newWorld(finding.Policy{Shortest: 5 * time.Minute, Baseline: true})
	w.run(start, parseSeen("aXbY"), false, false)
	due := start.Add(5 * time.Minute)
	run := finding.Begin(w.scope, w.list(), w.policy, due)
	for _, row := range parseSeen("aYbY") {
		run.Join(row)
	}
	for _, g := range run.Groups() {
		run.HoldGroup(g, "s_1")
	}
	w.apply(run.Finish(false))
	if st := w.states["a"]; st.Silenced != "s_1" {
		t.Errorf("%+v", st)
	}
	if _, got := w.run(due.Add(5*time.Minute), parseSeen("aYbY"), false, false); got != "join Y1x2" && got != "fire Y1x2" {
		t.Errorf("after the silence: %q", got)
	}
}

// TestBaselineNeverRepeatsANotice checks that no two notices of a group or finding have the same episode and ordinal,
// because their ids are made of these.
func TestBaselineNeverRepeatsANotice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grouped := rapid.Bool().Draw(t, "grouped")
		w := newWorld(finding.Policy{
			For: time.Duration(rapid.IntRange(0, 2).Draw(t, "for")) * 5 * time.Minute, KeepFiringFor: time.Duration(rapid.IntRange(0, 2).Draw(t, "keep")) * 5 * time.Minute,
			RepeatInterval: time.Hour, Shortest: 5 * time.Minute, Baseline: true,
		})
		ids := map[string]bool{}
		due := start
		for range rapid.IntRange(1, 20).Draw(t, "runs") {
			seen := membersGen.Draw(t, "seen")
			for i := range seen {
				if !grouped {
					seen[i].Group = ""
				}
			}
			first := w.scope.IsFirst()
			res := finding.Step(w.scope, w.list(), seen, false, w.policy, due)
			if first && len(res.Tells) > 0 {
				t.Fatalf("the first run tells %v", res.Tells)
			}
			for _, tell := range res.Tells {
				st := res.State(tell)
				id := fmt.Sprint(tell.Group, st.Key, st.Episode, st.Ordinal)
				if tell.Group != "" {
					id = fmt.Sprint(tell.Group, st.Episode, st.Ordinal)
				}
				if ids[id] || st.Baseline || st.Ordinal == 0 {
					t.Fatalf("%s is told: %+v", id, st)
				}
				ids[id] = true
				res.Told(tell, id, time.Time{})
			}
			w.apply(res)
			due = due.Add(5 * time.Minute)
		}
	})
}
