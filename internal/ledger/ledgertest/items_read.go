package ledgertest

import (
	"strings"
	"testing"
	"time"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

var itemReadTests = []testCase{
	{"unfinished items are read in pages", func(t *testing.T, f *fixture) {
		items := f.pushed(t, numberedIDs("i_", 25)...)
		var got []item.Record
		after := int64(0)
		for {
			page, err := f.UnfinishedItems(t.Context(), queue, after, 10)
			noError(t, err)
			if len(page) == 0 {
				break
			}
			got, after = append(got, page...), page[len(page)-1].Seq
		}
		equal(t, items, got)
	}},
	{"a trace begins with the push and has all moves in order", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.push(t, delayedItem("i_1"), newItem("i_2"))
		r := items[0]
		want := []item.Move{{Seq: r.Seq, At: start, To: item.Delayed, Due: start.Add(time.Hour), By: "rule", Node: "a"}}
		for n, to := range []item.State{item.Ready, item.Leased, item.Stored, item.Ready, item.Leased, item.Dead} {
			m := move(&r, int64(n+1), to)
			m.Note = "the shelf is gone: " + strings.Repeat("é ", n)
			if n == 2 {
				m.By, m.Node, m.Note = "Jo Doe", "-", "100% +1\nline"
			}
			f.apply(t, int64(n+1), m)
			want = append(want, m)
		}
		got, trace, err := f.ItemTrace(t.Context(), queue, "i_1")
		noError(t, err)
		equal(t, r, got)
		equal(t, want, trace)
		m := move(&r, 7, item.Done)
		f.apply(t, 7, m)
		got, trace, err = f.ItemTrace(t.Context(), queue, "i_1")
		noError(t, err)
		equal(t, r, got)
		equal(t, append(want, m), trace)
		got, trace, err = f.ItemTrace(t.Context(), queue, "i_2")
		noError(t, err)
		equal(t, items[1], got)
		equal(t, []item.Move{{Seq: items[1].Seq, At: start, To: item.Ready, By: "rule", Node: "a"}}, trace)
		for _, name := range []string{queue, queueTwin} {
			_, _, err = f.ItemTrace(t.Context(), name, "i_3")
			isError(t, ledger.ErrNotFound, err)
		}
	}},
	{"ended items come by state, the latest push first", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.pushed(t, numberedIDs("i_", 9)...)
		ends := f.finish(t, 1, item.Done, items[1], items[3], items[5])
		gone := f.finish(t, 2, item.Removed, items[2], items[6])
		noError(t, f.RefuseItems(t.Context(), queue, []item.Refusal{{Seq: items[7].Seq, Of: "x", At: start, Node: "a"}}))
		f.hasEnded(t, item.Done, 0, 10, ends[2], ends[1], ends[0])
		f.hasEnded(t, item.Done, 0, 2, ends[2], ends[1])
		f.hasEnded(t, item.Done, ends[1].Seq, 2, ends[0])
		f.hasEnded(t, item.Removed, 0, 10, gone[1], gone[0])
		f.hasEnded(t, item.Removed, gone[1].Seq, 10, gone[0])
		refused := items[7]
		refused.State, refused.Moves = item.Refused, 1
		f.hasEnded(t, item.Refused, 0, 10, refused)
		for _, state := range []item.State{item.Ready, item.Dead, "", "none"} {
			_, _, err := f.EndedItems(t.Context(), queue, state, nil, 0, 10)
			isError(t, ledger.ErrInvalid, err)
		}
		list, _, err := f.EndedItems(t.Context(), queueTwin, item.Done, nil, 0, 10)
		noError(t, err)
		equal(t, 0, len(list))
	}},
	{"unfinished items are found by their subject", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		records := []item.Record{newItem("i_1"), newItem("i_2"), newItem("i_3"), newItem("i_4")}
		for i := range records {
			records[i].Subject = "rule scope key"
		}
		records[2].Subject = "rule scope other"
		records[3].Subject = ""
		items := f.push(t, records...)
		f.hasSubject(t, "rule scope key", "i_1", "i_2")
		f.hasSubject(t, "rule scope other", "i_3")
		f.hasSubject(t, "")
		f.hasSubject(t, "nothing")
		f.apply(t, 1, move(&items[1], 1, item.Leased))
		f.finish(t, 2, item.Done, items[0])
		f.hasSubject(t, "rule scope key", "i_2")
	}},
	{"items are found by their dedupe keys, ended or not", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		records := []item.Record{newItem("i_1"), newItem("i_2"), newItem("i_3"), newItem("i_4"), newItem("i_5")}
		for i := range records {
			records[i].DedupeKey = "order 7"
		}
		records[1].Warehouse, records[3].DedupeKey, records[4].DedupeKey = "W2", "order 8", ""
		items := f.push(t, records...)
		items[0] = f.finish(t, 1, item.Done, items[0])[0]
		f.hasKey(t, "order 7", nil, 0, 10, items[2], items[1], items[0])
		f.hasKey(t, "order 7", item.Scope{"W2"}, 0, 10, items[1])
		f.hasKey(t, "order 7", nil, 0, 2, items[2], items[1])
		f.hasKey(t, "order 7", nil, items[1].Seq, 2, items[0])
		f.hasKey(t, "order 9", nil, 0, 10)
		f.hasKey(t, "", nil, 0, 10)
	}},
	{"done items hold their keys while their windows are open", func(t *testing.T, f *fixture) {
		f.begin(t, "", "e1")
		items := f.push(t, newItem("until done"), windowItem("longer", 2*time.Hour), windowItem("short", time.Minute),
			windowItem("long", time.Hour), windowItem("open", time.Hour), windowItem("removed", time.Hour), windowItem("refused", time.Hour))
		f.finish(t, 1, item.Done, items[:4]...)
		f.finish(t, 2, item.Removed, items[5])
		noError(t, f.RefuseItems(t.Context(), queue, []item.Refusal{{Seq: items[6].Seq, Of: "x", At: start, Node: "a"}}))
		held := func(i int) item.HeldKey {
			return item.HeldKey{Seq: items[i].Seq, ID: items[i].ID, Bucket: items[i].Bucket, Until: items[i].Until}
		}
		f.hasHeld(t, start, 0, 10, held(1), held(2), held(3))
		f.hasHeld(t, start, 0, 2, held(1), held(2))
		f.hasHeld(t, start, held(2).Seq, 2, held(3))
		f.hasHeld(t, start.Add(time.Minute), 0, 10, held(1), held(3))
		f.hasHeld(t, start.Add(time.Hour), 0, 10, held(1))
		f.hasHeld(t, start.Add(2*time.Hour), 0, 10)
	}},
	{"settings are kept, each change applies to the last one and is counted", func(t *testing.T, f *fixture) {
		number := func() int64 {
			numbers, err := f.Numbers(t.Context())
			noError(t, err)
			return numbers["queue_settings"]
		}
		change := func(by string, c item.SettingsChange) {
			t.Helper()
			c.Set.By = by
			noError(t, f.ChangeQueueSettings(t.Context(), &item.Order{By: by, Via: string(Ann.Via)}, queue, c))
		}
		before := number()
		f.hasSettings(t, queue, item.LiveSettings{})
		change("user:ann", item.SettingsChange{Set: item.LiveSettings{MaxAttempts: new(item.NoLimit), At: start}})
		f.hasSettings(t, queue, item.LiveSettings{MaxAttempts: new(item.NoLimit), By: "user:ann", At: start})
		f.hasSettings(t, queueTwin, item.LiveSettings{})
		later := start.Add(time.Minute)
		change("user:bo", item.SettingsChange{Set: item.LiveSettings{Lease: new(time.Hour), SuspendSteps: []time.Duration{}, At: later}})
		want := item.LiveSettings{Lease: new(time.Hour), MaxAttempts: new(item.NoLimit), SuspendSteps: []time.Duration{}, By: "user:bo", At: later}
		f.hasSettings(t, queue, want)
		// This change changes nothing, because the lease is an hour already.
		change("user:ann", item.SettingsChange{Set: item.LiveSettings{Lease: new(time.Hour), At: later.Add(time.Hour)}})
		f.hasSettings(t, queue, want)
		equal(t, before+2, number())
		change("user:ann", item.SettingsChange{Set: item.LiveSettings{At: later}, Reset: item.SettingNames()})
		f.hasSettings(t, queue, item.LiveSettings{By: "user:ann", At: later})
		equal(t, before+3, number())
	}},
	{"pauses are kept", func(t *testing.T, f *fixture) {
		f.hasPause(t, queue, item.Pause{})
		paused := item.Pause{Paused: true, By: "jo", At: start}
		noError(t, f.SetQueuePause(t.Context(), &item.Order{By: Ann.By, Via: string(Ann.Via)}, queue, paused))
		f.hasPause(t, queue, paused)
		f.hasPause(t, queueTwin, item.Pause{})
		resumed := item.Pause{By: "al", At: start.Add(time.Hour)}
		noError(t, f.SetQueuePause(t.Context(), &item.Order{By: Ann.By, Via: string(Ann.Via)}, queue, resumed))
		f.hasPause(t, queue, resumed)
		f.begin(t, "", "e1")
		f.apply(t, 1)
		f.hasPause(t, queue, resumed)
	}},
}

func (f *itemChecks) hasEnded(t testing.TB, state item.State, before int64, limit int, want ...item.Record) {
	t.Helper()
	got, _, err := f.EndedItems(t.Context(), queue, state, nil, before, limit)
	noError(t, err)
	equal(t, want, got)
}

func (f *itemChecks) hasKey(t testing.TB, key string, scope item.Scope, before int64, limit int, want ...item.Record) {
	t.Helper()
	got, next, err := f.KeyItems(t.Context(), queue, key, scope, before, limit)
	noError(t, err)
	equal(t, want, got)
	if more := len(want) == limit; more != (next > 0) {
		t.Errorf("%d of %d, and more below %d", len(got), limit, next)
	}
}

func (f *itemChecks) hasSubject(t testing.TB, subject string, want ...string) {
	t.Helper()
	got, err := f.SubjectItems(t.Context(), queue, []string{subject})
	noError(t, err)
	equal(t, [][]string{want}, got)
}

func (f *itemChecks) hasHeld(t testing.TB, now time.Time, after int64, limit int, want ...item.HeldKey) {
	t.Helper()
	got, err := f.HeldKeys(t.Context(), queue, now, after, limit)
	noError(t, err)
	equal(t, want, got)
}

func (f *itemChecks) hasSettings(t testing.TB, queue string, want item.LiveSettings) {
	t.Helper()
	got, err := f.QueueSettings(t.Context(), queue)
	noError(t, err)
	equal(t, want, got)
}

func (f *itemChecks) hasPause(t testing.TB, queue string, want item.Pause) {
	t.Helper()
	got, err := f.QueuePause(t.Context(), queue)
	noError(t, err)
	equal(t, want, got)
}
