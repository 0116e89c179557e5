package ledgertest

import (
	"bytes"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules/row"
)

var lookBackTests = []testCase{
	{"the memory of a rule that looks back comes back as it was written", func(t *testing.T, f *fixture) {
		f.register(t)
		f.remembers(t, ledger.LookBack{})
		first, second := portionOf(1, 10, 3), portionOf(2, 20, 70_000)
		first.Backlog = true
		f.looksBack(t, 1, &ledger.LookBackChange{From: mark(0), Add: []ledger.SeenRows{first, second}})
		f.remembers(t, ledger.LookBack{From: mark(0), Seen: []ledger.SeenRows{first, second}})
		f.looksBack(t, 2, nil)
		f.remembers(t, ledger.LookBack{From: mark(0), Seen: []ledger.SeenRows{first, second}})

		third := portionOf(3, 30, 1)
		f.looksBack(t, 3, &ledger.LookBackChange{From: mark(10), At: due(3), Through: 1, Add: []ledger.SeenRows{third}})
		f.remembers(t, ledger.LookBack{From: mark(10), At: due(3), Seen: []ledger.SeenRows{second, third}})
		f.looksBack(t, 4, &ledger.LookBackChange{From: mark(30), At: due(4), Through: 3})
		f.remembers(t, ledger.LookBack{From: mark(30), At: due(4)})
	}},
	{"each rule in each scope has a memory of its own, and forgets it alone", func(t *testing.T, f *fixture) {
		f.register(t)
		_, err := f.Register(t.Context(), rule, "other", 0, start)
		noError(t, err)
		c, err := f.Claim(t.Context(), rule, "other", 0, due(1), "a", lease)
		noError(t, err)
		run := commitOf(c)
		run.LookBack = &ledger.LookBackChange{From: mark(5), Add: []ledger.SeenRows{portionOf(1, 9, 2)}}
		_, err = f.Commit(t.Context(), c, run)
		noError(t, err)
		f.looksBack(t, 1, &ledger.LookBackChange{From: mark(0), Add: []ledger.SeenRows{portionOf(1, 10, 3)}})
		f.looksBack(t, 2, &ledger.LookBackChange{})
		f.remembers(t, ledger.LookBack{})
		other, err := f.LookBack(t.Context(), rule, "other")
		noError(t, err)
		equal(t, 1, len(other.Seen))
		equalWatermark(t, mark(5), other.From)
	}},
	{"a lost claim remembers nothing, and a repeated commit remembers once", func(t *testing.T, f *fixture) {
		f.register(t)
		c := f.claim(t, 1)
		run := commitOf(c)
		run.LookBack = &ledger.LookBackChange{From: mark(0), At: due(1), Add: []ledger.SeenRows{portionOf(1, 10, 3)}}
		for range 2 {
			_, err := f.Commit(t.Context(), c, run)
			noError(t, err)
		}
		want := ledger.LookBack{From: mark(0), At: due(1), Seen: []ledger.SeenRows{portionOf(1, 10, 3)}}
		f.remembers(t, want)

		c = f.claim(t, 2)
		f.clock.Add(lease)
		_, err := f.other(t).Claim(t.Context(), rule, scope, 0, due(2), "b", lease)
		noError(t, err)
		run = commitOf(c)
		run.LookBack = &ledger.LookBackChange{}
		_, err = f.Commit(t.Context(), c, run)
		isError(t, ledger.ErrFenced, err)
		f.remembers(t, want)
	}},
	{"the memory of a removed rule goes with the rule", func(t *testing.T, f *fixture) {
		f.register(t)
		f.looksBack(t, 1, &ledger.LookBackChange{From: mark(0), Add: []ledger.SeenRows{portionOf(1, 10, 3)}})
		last := portion(1)
		last.Last = true
		f.forgets(t, last)
		f.register(t)
		f.remembers(t, ledger.LookBack{})
	}},
}

// mark returns a watermark of one column.
func mark(n int64) []row.Value { return []row.Value{row.IntOf(n)} }

// portionOf makes the n-th portion of a memory, with the given number of rows.
func portionOf(n, position int64, rows int) ledger.SeenRows {
	hashes := bytes.Repeat([]byte{byte(n & 0xff), 0xff, 0}, rows*ledger.SeenHash/3+1)[:rows*ledger.SeenHash]
	return ledger.SeenRows{N: n, At: start.Add(time.Duration(n) * time.Second), Position: mark(position), Identity: "id", Hashes: hashes}
}

// looksBack commits the n-th firing, which changes the memory.
func (f *base) looksBack(t testing.TB, n int, change *ledger.LookBackChange) {
	t.Helper()
	c := f.claim(t, n)
	run := commitOf(c)
	run.LookBack = change
	_, err := f.Commit(t.Context(), c, run)
	noError(t, err)
}

// remembers checks that the ledger has this memory.
func (f *base) remembers(t testing.TB, want ledger.LookBack) {
	t.Helper()
	got, err := f.LookBack(t.Context(), rule, scope)
	noError(t, err)
	equalWatermark(t, want.From, got.From)
	equal(t, want.At, got.At)
	equal(t, len(want.Seen), len(got.Seen))
	for i := range want.Seen {
		equalWatermark(t, want.Seen[i].Position, got.Seen[i].Position)
		a, b := want.Seen[i], got.Seen[i]
		if !bytes.Equal(a.Hashes, b.Hashes) { // equal would compare them as lists of a million numbers
			t.Fatalf("portion %d: other hashes came back, %d bytes instead of %d", a.N, len(b.Hashes), len(a.Hashes))
		}
		a.Position, b.Position, a.Hashes, b.Hashes = nil, nil, nil, nil
		equal(t, a, b)
	}
}
