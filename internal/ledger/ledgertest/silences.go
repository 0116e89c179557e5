package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
)

// silenced makes a silence of two hours from the start of the tests.
func silenced(t testing.TB, id string, matchers ...string) silence.Silence {
	t.Helper()
	s := silence.Silence{
		ID: id, From: start, Until: start.Add(2 * time.Hour), Comment: "stocktake, 盘点", Author: "user:ann", Created: start.Add(time.Second),
	}
	for _, text := range matchers {
		m, err := silence.ParseMatcher(text)
		noError(t, err)
		s.Matchers = append(s.Matchers, m)
	}
	return s
}

// silenceText is what can be compared of a silence.
type silenceText struct {
	ID, Comment, Author, EndedBy string
	Matchers                     []string
	From, Until, Created, Ended  time.Time
	Cron, Timezone               string
	Open                         time.Duration
	Events                       int64
}

func textOf(s *silence.Silence) silenceText {
	out := silenceText{
		ID: s.ID, Comment: s.Comment, Author: s.Author, EndedBy: s.EndedBy, From: s.From, Until: s.Until, Created: s.Created,
		Ended: s.Ended, Events: s.Events,
	}
	for _, m := range s.Matchers {
		out.Matchers = append(out.Matchers, m.String())
	}
	if s.Window != nil {
		out.Cron, out.Timezone, out.Open = s.Window.Cron, s.Window.Timezone, s.Window.Duration
	}
	return out
}

func (f *fixture) hasSilences(t testing.TB, want ...silence.Silence) {
	t.Helper()
	list, err := f.Silences(t.Context())
	noError(t, err)
	var got, texts []silenceText
	for i := range list {
		got = append(got, textOf(&list[i]))
	}
	for i := range want {
		texts = append(texts, textOf(&want[i]))
	}
	equal(t, texts, got)
}

func (f *fixture) silencesNumber(t testing.TB) int64 {
	t.Helper()
	numbers, err := f.Numbers(t.Context())
	noError(t, err)
	return numbers["silences"]
}

var silenceTests = []testCase{
	{"silences are kept as they were added, the latest first", func(t *testing.T, f *fixture) {
		f.hasSilences(t)
		number := f.silencesNumber(t)
		one := silenced(t, "s_1", "rule=negative-bin-stock", "warehouse=~1192.*", `area!=" inbound"`)
		noError(t, f.AddSilence(t.Context(), Ann, &one))
		two := silenced(t, "s_2", "labels.rule!~x|y")
		window, err := silence.NewWindow("0 22 * * 6", "Asia/Shanghai", 8*time.Hour)
		noError(t, err)
		two.Window, two.Until, two.Created = window, time.Time{}, start.Add(time.Minute)
		noError(t, f.AddSilence(t.Context(), Ann, &two))
		f.hasSilences(t, two, one)
		equal(t, number+2, f.silencesNumber(t))
		isError(t, ledger.ErrExists, f.AddSilence(t.Context(), Ann, &one))
		got, err := f.Silence(t.Context(), "s_1")
		noError(t, err)
		equal(t, textOf(&one), textOf(&got))
		for _, id := range []string{"s_3", ""} {
			_, err = f.Silence(t.Context(), id)
			isError(t, ledger.ErrNotFound, err)
		}
		equal(t, number+2, f.silencesNumber(t))
	}},
	{"a silence is ended once", func(t *testing.T, f *fixture) {
		one := silenced(t, "s_1", "rule=x")
		noError(t, f.AddSilence(t.Context(), Ann, &one))
		number := f.silencesNumber(t)
		for i, want := range []bool{true, false} {
			ended, err := f.EndSilence(t.Context(), author([]string{"user:bob", "user:eve"}[i]), "s_1", start.Add(time.Duration(i+1)*time.Minute))
			noError(t, err)
			equal(t, want, ended)
		}
		one.Ended, one.EndedBy = start.Add(time.Minute), "user:bob"
		f.hasSilences(t, one)
		equal(t, number+1, f.silencesNumber(t))
		_, err := f.EndSilence(t.Context(), author("user:bob"), "s_2", start)
		isError(t, ledger.ErrNotFound, err)
		over := silenced(t, "s_2", "rule=x")
		noError(t, f.AddSilence(t.Context(), Ann, &over))
		ended, err := f.EndSilence(t.Context(), author("user:bob"), "s_2", over.Until)
		noError(t, err)
		equal(t, false, ended)
	}},
	{"findings remember what holds them back, and are counted for each of it", func(t *testing.T, f *fixture) {
		f.register(t)
		held := insert("A", "B", "C")
		for i, by := range []string{"s_1", "s_1 s_2", ""} {
			held[i].Silenced, held[i].Ordinal, held[i].NoticeID, held[i].LastNotified = by, 0, "", time.Time{}
		}
		f.commit(t, 1, nil, held...)
		f.hasHeldBack(t, map[string]ledger.HeldBack{"s_1": {Findings: 2}, "s_2": {Findings: 1}})
		f.hasStates(t, held...)
		for i := range held {
			held[i].Op, held[i].Silenced = ledger.Update, []string{"s_2", "", "s_2"}[i]
		}
		f.commit(t, 2, nil, held...)
		f.hasHeldBack(t, map[string]ledger.HeldBack{"s_2": {Findings: 2}})
		f.hasStates(t, held...)
		one, err := f.Finding(t.Context(), rule, scope, "A")
		noError(t, err)
		equal(t, "s_2", one.Silenced)
	}},
	{"a commit counts the events that were dropped, once", func(t *testing.T, f *fixture) {
		f.register(t)
		one, two := silenced(t, "s_1", "rule=x"), silenced(t, "s_2", "rule=x")
		noError(t, f.AddSilence(t.Context(), Ann, &one))
		noError(t, f.AddSilence(t.Context(), Ann, &two))
		number := f.silencesNumber(t)
		c := f.claim(t, 1)
		run := commitOf(c)
		run.Silenced = map[string]int{"s_1": 3, "s_2": 1, "s_gone": 7}
		for range 2 { // the answer to the first was lost
			_, err := f.Commit(t.Context(), c, run)
			noError(t, err)
		}
		one.Events, two.Events = 3, 1
		f.hasSilences(t, one, two)
		equal(t, number, f.silencesNumber(t))
	}},
	{"silences that are over go with what is old", func(t *testing.T, f *fixture) {
		over, ended, recurring := silenced(t, "s_1", "rule=x"), silenced(t, "s_2", "rule=x"), silenced(t, "s_3", "rule=x")
		window, err := silence.NewWindow("0 22 * * 6", "", 8*time.Hour)
		noError(t, err)
		recurring.Window, recurring.Until = window, time.Time{}
		ended.Until, ended.Window = time.Time{}, window
		for _, s := range []silence.Silence{over, ended, recurring} {
			noError(t, f.AddSilence(t.Context(), Ann, &s))
		}
		_, err = f.EndSilence(t.Context(), author("user:bob"), "s_2", start.Add(time.Hour))
		noError(t, err)
		_, err = f.Prune(t.Context(), start.Add(time.Hour), 100)
		noError(t, err)
		list, err := f.Silences(t.Context())
		noError(t, err)
		equal(t, 3, len(list))
		n, err := f.Prune(t.Context(), start.Add(3*time.Hour), 100)
		noError(t, err)
		equal(t, int64(2), n)
		f.hasSilences(t, recurring)
	}},
}

func (f *fixture) hasHeldBack(t testing.TB, want map[string]ledger.HeldBack) {
	t.Helper()
	got, err := f.HeldBack(t.Context())
	noError(t, err)
	equal(t, want, got)
}

// hasStates compares the open findings.
func (f *fixture) hasStates(t testing.TB, want ...ledger.FindingChange) {
	t.Helper()
	list, err := f.Findings(t.Context(), rule, scope)
	noError(t, err)
	got := map[string]finding.State{}
	for _, s := range list {
		got[s.Key] = s
	}
	states := map[string]finding.State{}
	for _, c := range want {
		states[c.Key] = c.State
	}
	equal(t, states, got)
}
