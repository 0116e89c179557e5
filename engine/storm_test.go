package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/engine/enginetest"
	"tallyman/engine/trial"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/row"
	"tallyman/scanners"
)

var binColumns = []row.Column{
	{Name: "wh", Kind: row.Text}, {Name: "bin_code", Kind: row.Text}, {Name: "qty", Kind: row.Int}, {Name: "label", Kind: row.Text, Nullable: true},
}

// bin is a row of a probe over several warehouses. The notice of a bin without a label cannot be written.
type bin struct {
	wh, code  string
	qty       int64
	unlabeled bool
}

func (b bin) values() []row.Value {
	label := row.TextOf("bin " + b.code)
	if b.unlabeled {
		label = row.Value{}
	}
	return []row.Value{row.TextOf(b.wh), row.TextOf(b.code), row.IntOf(b.qty), label}
}

// manyBins is a rule over several warehouses.
func manyBins() *rules.Rule {
	r := negativeStock()
	r.Key, r.Per = []string{"bin_code"}, rules.PerRow
	r.Probe.SQL = "SELECT wh, bin_code, qty, label FROM bin_stock"
	r.Notice.Warehouse = "wh"
	r.Notice.Fields = map[string]string{"bin": "label", "qty": "qty"}
	return r
}

// grouped is the rule with a notice for each warehouse.
func grouped(r *rules.Rule) *rules.Rule {
	r.GroupBy = []string{"wh"}
	r.Notice.Title = map[string]string{"": "{{ .row_count }} bins in {{ .wh }}"}
	r.Notice.Body = map[string]string{"": "{{ range .rows }}{{ .bin_code }}:{{ .qty }} {{ end }}"}
	return r
}

// binTrial is a trial of the rule whose probe answers *bins, or fails with *fault.
func binTrial(t testing.TB, r *rules.Rule, bins *[]bin, fault *error) *trial.Trial {
	t.Helper()
	return binTrialFrom(t, r, bins, fault, trial.Start{})
}

func binTrialFrom(t testing.TB, r *rules.Rule, bins *[]bin, fault *error, start trial.Start) *trial.Trial {
	t.Helper()
	source := &enginetest.Source{Columns: binColumns, Rows: func(context.Context, scanners.Request) (rows [][]row.Value, err error) {
		for _, b := range *bins {
			rows = append(rows, b.values())
		}
		return rows, *fault
	}}
	try, err := trial.New(r, source, catalog.Catalog{repNotice.Code: repNotice}, start)
	if err == nil {
		err = try.Verify(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return try
}

// TestNothingDisappears runs rules with and without groups, limits, `for`, reminders and failures at random, and
// counts. A finding that fires or is due for a reminder is in one notice of that run: its own, its group's, or a
// digest. No run makes more notices than its limit and one digest for each warehouse. A notice is resolved once, when
// the last finding that carries it is gone.
func TestNothingDisappears(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		minutes := func(name string) time.Duration {
			return time.Duration(rapid.SampledFrom([]int{0, 0, 5, 12}).Draw(rt, name)) * time.Minute
		}
		r := manyBins()
		r.For, r.KeepFiringFor, r.RepeatInterval = minutes("for"), minutes("keep"), minutes("repeat")
		r.Limit.Notices = rapid.IntRange(0, 3).Draw(rt, "limit")
		if rapid.Bool().Draw(rt, "groups") {
			r = grouped(r)
		}
		var bins []bin
		var fault error
		s := &story{T: rt, rule: r, try: binTrial(t, r, &bins, &fault), open: map[string]string{}}
		due := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
		for range rapid.IntRange(1, 25).Draw(rt, "runs") {
			bins, fault = binsGen.Draw(rt, "bins"), nil
			if rapid.IntRange(0, 6).Draw(rt, "fails") == 0 {
				fault = errors.New("away")
			}
			s.run(due)
			due = due.Add(5 * time.Minute)
		}
		bins, fault = nil, nil
		for range 4 {
			s.run(due)
			due = due.Add(5 * time.Minute)
		}
		if len(s.open) > 0 || len(s.try.Findings()) > 0 {
			rt.Fatalf("never resolved: %v, %v", s.open, s.try.Findings())
		}
	})
}

var binsGen = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) bin {
	return bin{
		wh: rapid.SampledFrom([]string{"W1", "W2"}).Draw(t, "wh"), code: rapid.StringMatching("[A-H]").Draw(t, "code"),
		qty: rapid.SampledFrom([]int64{-1, -1, -1, -200, 3}).Draw(t, "qty"), unlabeled: rapid.IntRange(0, 9).Draw(t, "unlabeled") == 0,
	}
}), 0, 10)

// story follows the notices of a trial.
type story struct {
	*rapid.T
	rule *rules.Rule
	try  *trial.Trial
	ids  []string
	open map[string]string // what is told and not resolved: lineOf → the notice told last
}

// lineOf returns what a resolution ends: an episode with all its reminders, or a digest.
func lineOf(n *notice.Notice) string { return n.Key + " " + n.Episode }

func (s *story) run(due time.Time) {
	run, err := s.try.Run(s.Context(), due)
	if err != nil {
		s.Fatal(err)
	}
	commit := run.Commits[0]
	firing, resolved := s.split(commit)
	s.counted(due, firing)
	s.limited(firing)
	s.resolved(firing, resolved)
	if run := commit.Run; run.Errored > 0 && (run.Outcome != ledger.OutcomeDegraded || len(run.Samples) == 0) {
		s.Fatalf("what cannot be told is not loud: %+v", run)
	}
}

func (s *story) split(c *ledger.Commit) (firing, resolved []*notice.Notice) {
	for _, n := range c.Notices {
		if slices.Contains(s.ids, n.Notice.ID) {
			s.Fatalf("the id of %q came before", n.Notice.Title)
		}
		s.ids = append(s.ids, n.Notice.ID)
		if n.Notice.Status == notice.Resolved {
			resolved = append(resolved, n.Notice)
			continue
		}
		firing = append(firing, n.Notice)
	}
	return firing, resolved
}

// counted checks that the notices of the run match the states of the findings.
func (s *story) counted(due time.Time, firing []*notice.Notice) {
	told := 0
	for _, st := range s.try.Findings() {
		if st.Phase == finding.Firing && st.LastNotified.Equal(due) {
			told++
		}
		if st.Phase == finding.Firing && s.try.Notice(st.NoticeID) == nil {
			s.Fatalf("%+v fires and was never told", st)
		}
	}
	count := 0
	for _, n := range firing {
		count += n.Count
	}
	if count != told {
		s.Fatalf("%d findings are told by notices that stand for %d", told, count)
	}
}

func (s *story) limited(firing []*notice.Notice) {
	var digests, alone []string
	for _, n := range firing {
		if notice.IsDigest(n.ID) {
			digests = append(digests, n.Warehouse)
		} else {
			alone = append(alone, n.Key)
		}
	}
	slices.Sort(digests)
	switch most := s.rule.Limit.Notices; {
	case most == 0 && len(digests) > 0, most > 0 && len(alone) > most, len(digests) > 0 && len(alone) != most,
		len(slices.Compact(slices.Clone(digests))) != len(digests):
		s.Fatalf("alone %v, digests %v, limit %d", alone, digests, most)
	case len(digests) > 0 && !slices.IsSorted(alone):
		s.Fatalf("not the first keys: %v", alone)
	}
}

// resolved checks that a notice is resolved once, and only when no finding carries it any more.
func (s *story) resolved(firing, resolved []*notice.Notice) {
	told := map[string]string{}
	for _, n := range firing {
		told[lineOf(n)] = n.ID
	}
	carried := map[string]bool{}
	for _, st := range s.try.Findings() {
		if st.NoticeID != "" {
			carried[lineOf(s.try.Notice(st.NoticeID))] = true
		}
	}
	got := map[string]bool{}
	for _, n := range resolved {
		if line := lineOf(n); s.open[line] == "" || got[line] {
			s.Fatalf("%q is resolved, but it is not open", n.Title)
		}
		got[lineOf(n)] = true
	}
	for line := range s.open {
		if carried[line] == got[line] {
			s.Fatalf("%s: carried %v, resolved %v", line, carried[line], got[line])
		}
		if got[line] {
			delete(s.open, line)
		}
	}
	for line, id := range told {
		if carried[line] {
			s.open[line] = id
		} else if !notice.IsDigest(id) {
			s.Fatalf("%s was told and is carried by nobody", line)
		}
	}
}
