package ledgertest

import (
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/rules/row"
)

var surveyTests = []testCase{
	{"a survey of a new ledger has nothing", func(t *testing.T, f *fixture) {
		got, err := f.Survey(t.Context())
		noError(t, err)
		equal(t, ledger.Survey{}, got)
	}},
	{"a survey counts what is left to do", testSurvey},
}

func testSurvey(t *testing.T, f *fixture) {
	f.subscribed(t)
	f.commit(t, 1, to([]ledger.Target{inbox}, numbered("n_", 2)...))
	c := f.claim(t, 2)
	run := commitOf(c)
	run.Watermark = []row.Value{row.IntOf(7)}
	_, err := f.Commit(t.Context(), c, run)
	noError(t, err)
	f.claim(t, 3)
	f.begin(t, "", "e1")
	items := f.pushed(t, numberedIDs("i_", 4)...)
	f.apply(t, 1, move(&items[0], 1, item.Leased), move(&items[1], 1, item.Leased), move(&items[1], 2, item.Done))
	f.clock.Add(time.Second)
	noError(t, f.GrowBranch(t.Context(), "b", 1))
	want := ledger.Survey{
		LastSign: f.clock.Now(), LastNotice: start, Claimed: 1, Watermarks: 1,
		Items: map[string]map[item.State]int64{queue: {item.Leased: 1, item.Ready: 2}},
	}
	got, err := f.Survey(t.Context())
	noError(t, err)
	equal(t, want, got)
	f.clock.Add(lease)
	want.Claimed, want.Abandoned = 0, 1
	got, err = f.Survey(t.Context())
	noError(t, err)
	equal(t, want, got)
}
