package ledgertest

import (
	"errors"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

var lineageTests = []testCase{
	{"a branch grows by one, and a repeated call changes nothing", testBranchGrows},
	{"a branch that the ledger does not know, or knows at an earlier number, is forked", testForkedBranch},
	{"branches are kept for 400 days beyond the retention", testBranchesArePruned},
	{"a restore is recorded with its time", testRestoreIsRecorded},
	{"origins are returned for existing deliveries only", testOrigins},
	{"withheld items are dead until somebody decides", testWithheldItems},
	{"withheld items are listed by warehouse and in pages", testWithheldPages},
}

func testBranchGrows(t *testing.T, f *fixture) {
	l := f.other(t)
	for _, number := range []int64{1, 1, 2, 2, 3} {
		if err := f.GrowBranch(t.Context(), "b", number); err != nil {
			t.Fatalf("number %d: %v", number, err)
		}
	}
	if err := l.GrowBranch(t.Context(), "c", 1); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		branch string
		number int64
		want   bool
	}{{"b", 1, true}, {"b", 3, true}, {"b", 4, false}, {"c", 1, true}, {"c", 2, false}, {"d", 1, false}} {
		if got, err := l.HasBranch(t.Context(), c.branch, c.number); err != nil || got != c.want {
			t.Errorf("branch %s at %d is known: %v, %v; want %v", c.branch, c.number, got, err, c.want)
		}
	}
}

func testForkedBranch(t *testing.T, f *fixture) {
	if err := f.GrowBranch(t.Context(), "b", 2); !errors.Is(err, ledger.ErrForked) {
		t.Errorf("an unknown branch grew: %v", err)
	}
	for number := range int64(3) {
		if err := f.GrowBranch(t.Context(), "b", number+1); err != nil {
			t.Fatal(err)
		}
	}
	for _, number := range []int64{2, 5} { // an older copy; a number that another process with the name has reached
		if err := f.GrowBranch(t.Context(), "b", number); !errors.Is(err, ledger.ErrForked) {
			t.Errorf("the branch at 3 grew to %d: %v", number, err)
		}
	}
}

func testBranchesArePruned(t *testing.T, f *fixture) {
	if err := f.GrowBranch(t.Context(), "old", 1); err != nil {
		t.Fatal(err)
	}
	f.clock.Add(24 * time.Hour)
	if err := f.GrowBranch(t.Context(), "young", 1); err != nil {
		t.Fatal(err)
	}
	f.clock.Add(489*24*time.Hour + time.Hour)
	if _, err := f.Prune(t.Context(), f.clock.Now().Add(-90*24*time.Hour), 1); err != nil {
		t.Fatal(err)
	}
	for branch, want := range map[string]bool{"old": false, "young": true} {
		if got, err := f.HasBranch(t.Context(), branch, 1); err != nil || got != want {
			t.Errorf("branch %s is there: %v, %v", branch, got, err)
		}
	}
}

func testRestoreIsRecorded(t *testing.T, f *fixture) {
	before, err := f.Numbers(t.Context())
	noError(t, err)
	restored := func() int64 {
		numbers, err := f.Numbers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return numbers["restored"]
	}
	if at := restored(); at != 0 {
		t.Errorf("a new ledger was restored at %d", at)
	}
	f.clock.Add(time.Minute)
	who := ledger.Author{By: "node:a", Via: ledger.ViaNode}
	r := &ledger.Restore{Sink: "inbox", Epoch: "7-abc", Cause: "it does not know branch b at 9", Dropped: 3}
	if err := f.AddRestore(t.Context(), who, r); err != nil {
		t.Fatal(err)
	}
	if at := restored(); at != f.clock.Now().UnixMicro() {
		t.Errorf("restored at %d, want %d", at, f.clock.Now().UnixMicro())
	}
	after, err := f.Numbers(t.Context())
	noError(t, err)
	for _, name := range []string{"types_version", "tokens", "switches", "silences", "queue_settings", "scope_lists"} {
		if after[name] < before[name]+1_000_000 {
			t.Errorf("the number %s went from %d to %d: a node may remember that", name, before[name], after[name])
		}
	}
	list, _, err := f.Changes(t.Context(), ledger.ChangeFilter{Action: "ledger.restored", Limit: 10})
	const want = `{"epoch":"7-abc","cause":"it does not know branch b at 9","dropped":3}`
	if err != nil || len(list) != 1 || list[0].Object != "sink:inbox" || list[0].By != "node:a" || string(list[0].After) != want {
		t.Errorf("the record is %+v, %v", list, err)
	}
}

func testOrigins(t *testing.T, f *fixture) {
	f.subscribed(t)
	f.commit(t, 1, to([]ledger.Target{inbox}, numbered("n_", 2)...))
	list := f.pending(t, inboxLane)
	got, err := f.Origins(t.Context(), []int64{list[1].Seq, list[1].Seq + 1000})
	noError(t, err)
	equal(t, map[int64]delivery.Origin{list[1].Seq: {Notice: "n_00001", Created: list[1].Notice.CreatedAt}}, got)
}

func testWithheldItems(t *testing.T, f *fixture) {
	f.begin(t, "", "e1")
	items := f.pushed(t, numberedIDs("i_", 5)...)
	f.apply(t, 1, move(&items[1], 1, item.Leased), move(&items[2], 1, item.Leased), move(&items[2], 2, item.Done))
	at := start.Add(time.Minute)
	var list []item.Withheld
	for _, i := range []int{0, 1, 2} { // the last one has ended
		list = append(list, item.Withheld{Seq: items[i].Seq, At: at, Node: "b", Note: "ended since"})
	}
	list = append(list, item.Withheld{Seq: items[4].Seq + 1000, At: at})
	for range 2 { // a repeated call changes nothing
		noError(t, f.WithholdItems(t.Context(), queue, list))
		got, next, err := f.WithheldItems(t.Context(), queue, nil, 0, 10)
		noError(t, err)
		if next != 0 || len(got) != 2 || got[0].ID != "i_00001" || got[1].ID != "i_00000" || got[0].State != item.Dead || got[0].Moves != 2 || !got[0].Due.Equal(at) {
			t.Fatalf("withheld are %+v, next %d", got, next)
		}
		f.withholds(t, map[string]int64{queue: 2})
	}
	_, trace, err := f.ItemTrace(t.Context(), queue, "i_00001")
	noError(t, err)
	last := trace[len(trace)-1]
	want := item.Move{Seq: items[1].Seq, N: 2, At: at, From: item.Leased, To: item.Dead, Attempt: last.Attempt, Due: at, Node: "b", Note: "ended since"}
	equal(t, want, last)
	equal(t, 3, len(trace))

	items[1].Moves, items[1].State = 2, item.Dead
	f.apply(t, 2, move(&items[1], 3, item.Removed)) // an operator ends one and lets the other run again
	f.withholds(t, map[string]int64{queue: 1})
	items[0].Moves, items[0].State = 1, item.Dead
	f.apply(t, 3, move(&items[0], 1001, item.Ready))
	f.withholds(t, map[string]int64{})
	_, err = f.Prune(t.Context(), start.Add(-time.Hour), 1)
	noError(t, err)

	m := move(&items[0], 1002, item.Dead) // an item that died after its attempts is not withheld
	f.apply(t, 4, m)
	f.withholds(t, map[string]int64{})
	noError(t, f.WithholdItems(t.Context(), "unknown", list))
	noError(t, f.WithholdItems(t.Context(), queue, nil))
}

func (f *fixture) withholds(t *testing.T, want map[string]int64) {
	t.Helper()
	got, err := f.CountWithheld(t.Context())
	noError(t, err)
	equal(t, want, got)
}

func testWithheldPages(t *testing.T, f *fixture) {
	f.begin(t, "", "e1")
	items := f.pushed(t, numberedIDs("i_", 25)...)
	var list []item.Withheld
	for i := range items {
		list = append(list, item.Withheld{Seq: items[i].Seq, At: start})
	}
	noError(t, f.WithholdItems(t.Context(), queue, list))
	var got []string
	for before := int64(0); ; {
		page, next, err := f.WithheldItems(t.Context(), queue, nil, before, 10)
		noError(t, err)
		for i := range page {
			got = append(got, page[i].ID)
		}
		if before = next; next == 0 {
			break
		}
	}
	if len(got) != 25 || got[0] != "i_00024" || got[24] != "i_00000" {
		t.Errorf("the pages have %v", got)
	}
	page, _, err := f.WithheldItems(t.Context(), queue, item.Scope{"elsewhere"}, 0, 10)
	noError(t, err)
	equal(t, 0, len(page))
	page, _, err = f.WithheldItems(t.Context(), "unknown", nil, 0, 10)
	noError(t, err)
	equal(t, 0, len(page))
}
