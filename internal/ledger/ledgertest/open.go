package ledgertest

import (
	"sort"
	"testing"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
)

// hasOpen checks that outlines, single findings and the numbers of carriers agree with want. A run that keeps only
// outlines reads these three. want has all open findings, in the order of their keys.
func (f *base) hasOpen(t testing.TB, want []finding.State) {
	t.Helper()
	open, err := f.Open(t.Context(), rule, scope)
	noError(t, err)
	if !open.Equal(finding.NewOpen(want)) {
		t.Fatalf("the outlines are not those of %+v", want)
	}
	asked := []finding.Hash{finding.HashOf("a key that there is not")}
	var some []finding.State
	var notices []string
	carriers := map[string]int{}
	for i := range want {
		if i%2 == 0 {
			asked, some = append(asked, finding.HashOf(want[i].Key)), append(some, want[i])
		}
		if id := want[i].NoticeID; id != "" {
			notices = append(notices, id)
			carriers[id]++
		}
	}
	got, err := f.OpenFindings(t.Context(), rule, scope, asked)
	noError(t, err)
	sort.Slice(got, func(i, j int) bool { return got[i].Key < got[j].Key })
	equal(t, some, got)
	counted, err := f.Carriers(t.Context(), rule, scope, append(notices, "n_none"))
	noError(t, err)
	equal(t, carriers, counted)
}

var openTests = []testCase{
	{"outlines, single findings and carriers agree with all findings", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.hasOpen(t, nil)
		changes := insert("a", "b", finding.NoData, "d", "e", finding.OnError)
		for i := range changes {
			st := &changes[i].State
			switch i % 3 {
			case 0:
				st.Phase, st.SinceClock = finding.Pending, 5e9
			case 1:
				st.Phase, st.NoticeID, st.LastNotified, st.Ordinal, st.Watched = finding.Firing, "n_1", due(1), 1, "x y"
			case 2:
				st.Phase, st.NoticeID, st.AbsentSince, st.SinceClock = finding.Firing, "n_2", due(1), 7e9
			}
		}
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_1"), newNotice("n_2")), changes...)
		states := make([]finding.State, len(changes))
		for i := range changes {
			states[i] = changes[i].State
		}
		f.hasFindings(t, states...)
	}},
	{"a portion of a removal moves the token on, so that no node goes on with closed findings", func(t *testing.T, f *fixture) {
		f.subscribed(t)
		f.commit(t, 1, to([]ledger.Target{inbox}, newNotice("n_1")), insert("k1", "k2")...)
		claim := func(n int) ledger.Claim {
			c, err := f.Claim(t.Context(), rule, scope, 0, due(n), "a", time.Minute)
			noError(t, err)
			return c
		}
		c := claim(2)
		_, err := f.Commit(t.Context(), c, commitOf(c))
		noError(t, err)
		again := claim(3)
		equal(t, c.Token, again.Before)
		_, err = f.Commit(t.Context(), again, commitOf(again))
		noError(t, err)
		_, err = f.Forget(t.Context(), portion(3, "k1"))
		noError(t, err)
		if after := claim(4); after.Before == again.Token {
			t.Fatal("the node takes its findings for the ledger's")
		}
	}},
}
