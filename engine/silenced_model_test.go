package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/silence"
	"tallyman/rules"
)

// hushedBin is a bin in the model. It counts as told from its first notice to the end of the finding.
type hushedBin struct {
	told     bool
	priority int
	at       time.Time
}

// hushModel is a short model of notices under silences, for single bins or for warehouses as groups.
type hushModel struct {
	silences []silence.Silence
	grouped  bool
	repeat   time.Duration
	open     map[string]*hushedBin
	groups   map[string]*hushedBin // what each warehouse was told
}

func (m *hushModel) silent(at time.Time, wh string) bool {
	for i := range m.silences {
		s := &m.silences[i]
		if !at.Before(s.From) && at.Before(s.Until) && (s.Ended.IsZero() || at.Before(s.Ended)) && s.Matchers[0].Value == wh {
			return true
		}
	}
	return false
}

// run returns the notices of a run that sees these bins.
func (m *hushModel) run(at time.Time, bins []bin) (told []string) {
	seen := map[string]bin{}
	for _, b := range bins {
		seen[b.code] = b
		if m.open[b.code] == nil {
			m.open[b.code] = &hushedBin{}
		}
	}
	if m.grouped {
		return m.runGroups(at, bins, seen)
	}
	for code, known := range m.open {
		b, here := seen[code]
		priority := priorityOf(b)
		switch {
		case !here && known.told:
			told = append(told, "resolved "+code)
			delete(m.open, code)
		case !here:
			delete(m.open, code)
		case m.silent(at, b.wh):
		case !known.told || priority > known.priority || m.repeat > 0 && at.Sub(known.at) >= m.repeat:
			*known = hushedBin{true, priority, at}
			told = append(told, "firing "+code)
		}
	}
	slices.Sort(told)
	return told
}

func (m *hushModel) runGroups(at time.Time, bins []bin, seen map[string]bin) (told []string) {
	for _, wh := range []string{"W1", "W2"} {
		g := m.groups[wh]
		if g == nil {
			g = &hushedBin{}
			m.groups[wh] = g
		}
		untold, carried, priority := false, false, 0
		for _, b := range bins {
			if b.wh == wh {
				untold = untold || !m.open[b.code].told
				carried = carried || m.open[b.code].told
				priority = max(priority, priorityOf(b))
			}
		}
		switch {
		case priority > 0 && !m.silent(at, wh) && (untold || priority > g.priority || m.repeat > 0 && at.Sub(g.at) >= m.repeat):
			*g = hushedBin{true, priority, at}
			told = append(told, "firing "+wh)
			for _, b := range bins {
				if b.wh == wh {
					m.open[b.code].told = true
				}
			}
		case g.told && !carried:
			told = append(told, "resolved "+wh)
			*g = hushedBin{}
		}
	}
	for code := range m.open {
		if _, here := seen[code]; !here {
			delete(m.open, code)
		}
	}
	return told
}

func priorityOf(b bin) int {
	if b.qty < -100 {
		return 5
	}
	return 3
}

// TestSilencesHoldBackAndLoseNothing: for any order of silences, findings and runs, each run sends the notices of the
// model. A silenced finding gets one notice when the silence ends, never two, and none if it was over before.
func TestSilencesHoldBackAndLoseNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		const runs = 25
		model := &hushModel{grouped: rapid.Bool().Draw(r, "grouped"), open: map[string]*hushedBin{}, groups: map[string]*hushedBin{}}
		model.repeat = rapid.SampledFrom([]time.Duration{0, 20 * time.Minute}).Draw(r, "repeat")
		for i := range rapid.IntRange(0, 4).Draw(r, "silences") {
			from := rapid.IntRange(0, runs-2).Draw(r, "from")
			s := quiet(t, fmt.Sprintf("s_%d", i), 5*from, 5*rapid.IntRange(from+1, runs-1).Draw(r, "until"), "warehouse="+rapid.SampledFrom([]string{"W1", "W2"}).Draw(r, "wh"))
			if rapid.Bool().Draw(r, "ended early") {
				s.Ended = s.From.Add(7 * time.Minute)
			}
			model.silences = append(model.silences, s)
		}
		rule := manyBins()
		if model.grouped {
			rule = grouped(rule)
		}
		rule.RepeatInterval, rule.Notice.SendResolved = model.repeat, true
		var bins []bin
		var fault error
		try := hushed(t, rule, &bins, &fault, model.silences...)
		for n := range runs {
			bins = nil
			for i := range 5 {
				if qty := rapid.SampledFrom([]int64{0, -1, -1, -200}).Draw(r, "qty"); qty < 0 {
					bins = append(bins, bin{wh: []string{"W1", "W2"}[i%2], code: string(rune('A' + i)), qty: qty})
				}
			}
			run, err := try.Run(t.Context(), minute(5*n))
			if err != nil {
				r.Fatal(err)
			}
			var got []string
			for _, notice := range run.Commits[0].Notices {
				name := notice.Notice.Key[2:3]
				if rule.GroupBy != nil {
					name = notice.Notice.Warehouse
				}
				got = append(got, fmt.Sprintf("%s %s", notice.Notice.Status, name))
			}
			slices.Sort(got)
			want := model.run(minute(5*n), bins)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				r.Fatalf("at run %d with %+v: told %q, want %q", n, bins, got, want)
			}
			for _, st := range try.Findings() {
				if (st.Silenced != "") && !model.silent(minute(5*n), whOf(bins, st.Key)) {
					r.Fatalf("at run %d %s is held back by %s", n, st.Key, st.Silenced)
				}
			}
		}
	})
}

func whOf(bins []bin, key string) string {
	for _, b := range bins {
		if b.code == key[2:3] {
			return b.wh
		}
	}
	return ""
}

// Notices of a trial never share an id. So a withheld notice is not lost because its id was used before.
func TestSilencedIDsAreNew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		rule := grouped(manyBins())
		rule.KeepFiringFor = rapid.SampledFrom([]time.Duration{0, 10 * time.Minute}).Draw(r, "keep")
		rule.NoData = rules.PolicyOK
		var silences []silence.Silence
		for i := range rapid.IntRange(1, 4).Draw(r, "silences") {
			from := rapid.IntRange(0, 18).Draw(r, "from")
			silences = append(silences, quiet(t, fmt.Sprintf("s_%d", i), 5*from, 5*rapid.IntRange(from+1, 20).Draw(r, "until"), "warehouse=W1"))
		}
		var bins []bin
		var fault error
		try := hushed(t, rule, &bins, &fault, silences...)
		used := map[string]int{}
		for n := range 22 {
			bins = nil
			for i := range 3 {
				if rapid.Bool().Draw(r, "here") {
					bins = append(bins, bin{wh: "W1", code: string(rune('A' + i)), qty: -1})
				}
			}
			run, err := try.Run(t.Context(), minute(5*n))
			if err != nil {
				r.Fatal(err)
			}
			for _, made := range run.Commits[0].Notices {
				if before, known := used[made.Notice.ID]; known {
					r.Fatalf("run %d makes the %s notice of run %d again", n, made.Notice.Status, before)
				}
				used[made.Notice.ID] = n
			}
		}
	})
}
