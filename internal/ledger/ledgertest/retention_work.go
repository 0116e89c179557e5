package ledgertest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
)

// keptRuns is the number of runs of a scope that pruning keeps in these tests.
const keptRuns = 5

// workRetention is a ledger in which time passes. One scope runs often and another one seldom, and items wait and move.
type workRetention struct {
	f        *fixture
	random   *rand.Rand
	runs     map[string][]ledger.Run // by scope, the latest first
	items    []*retainedItem
	made     int
	position int64
}

// retainedItem is an item with the time of its last move.
type retainedItem struct {
	item.Record
	moved time.Time
}

var retentionWorkTests = []testCase{
	{"retention keeps the last runs, and items that are open or ended of late with all their moves", func(t *testing.T, f *fixture) {
		seed := rand.Uint64() //nolint:gosec // not a secret
		t.Logf("seed %d", seed)
		f.begin(t, "", "e1")
		// The clock begins today, so that items get numbers of different days and not only of today.
		f.clock.Add(max(time.Since(start), 0))
		m := &workRetention{f: f, random: rand.New(rand.NewPCG(seed, 0)), runs: map[string][]ledger.Run{}} //nolint:gosec // not a secret
		for range 60 {
			f.clock.Add(time.Duration(1+m.random.IntN(30)) * time.Hour)
			if m.random.IntN(12) == 0 { // a pause in which nothing happens
				f.clock.Add(12 * oneDay)
			}
			m.fire(t)
			m.work(t)
			if m.random.IntN(2) == 0 {
				m.prune(t)
			}
		}
		m.prune(t)
	}},
}

// fire runs some of the scopes. Consecutive runs with the same number of rows share a record.
func (m *workRetention) fire(t *testing.T) {
	t.Helper()
	for scope, every := range map[string]int{"often": 1, "seldom": 12} {
		if m.random.IntN(every) > 0 {
			continue
		}
		now := m.f.clock.Now()
		_, err := m.f.Register(t.Context(), rule, scope, 0, start)
		noError(t, err)
		c, err := m.f.Claim(t.Context(), rule, scope, 0, now, "a", lease)
		noError(t, err)
		run := &ledger.Commit{Run: okRun(c), Scope: finding.Scope{LastDue: now, LastOKDue: now}}
		run.Run.Rows = m.random.IntN(3)
		_, err = m.f.Commit(t.Context(), c, run)
		noError(t, err)
		m.runs[scope] = append([]ledger.Run{run.Run}, m.runs[scope]...)
	}
}

// work pushes items, and moves some of the open items. Some of the moves end their items.
func (m *workRetention) work(t *testing.T) {
	t.Helper()
	now := m.f.clock.Now()
	for range m.random.IntN(3) {
		m.made++
		r := newItem(fmt.Sprintf("i_%d", m.made))
		r.Created, r.Ready = now, now
		m.items = append(m.items, &retainedItem{Record: m.f.push(t, r)[0], moved: now})
	}
	var moves []item.Move
	for _, i := range m.items {
		if i.State.Ended() || m.random.IntN(4) > 0 {
			continue
		}
		n, to := i.Moves+1, item.Leased
		if i.State == item.Leased {
			to = []item.State{item.Ready, item.Ready, item.Done, item.Removed}[m.random.IntN(4)]
		}
		next := move(&i.Record, n, to)
		next.At, i.moved = now, now
		moves = append(moves, next)
	}
	m.position++
	m.f.apply(t, m.position, moves...)
}

// prune prunes, and checks each scope and item.
func (m *workRetention) prune(t *testing.T) {
	t.Helper()
	before := m.f.clock.Now().Add(-20 * oneDay)
	_, err := m.f.Prune(t.Context(), before, keptRuns)
	noError(t, err)
	for scope, want := range m.runs {
		got, err := m.f.Runs(t.Context(), rule, &scope, 1000)
		noError(t, err)
		must := 1
		for must < min(len(want), keptRuns) && !want[must].Due.Before(before) {
			must++
		}
		if len(got) < must || len(got) > len(want) {
			t.Fatalf("%d runs of %s are left of %d, of which %d are to be kept", len(got), scope, len(want), must)
		}
		m.runs[scope] = want[:len(got)]
		equal(t, m.runs[scope], got)
	}
	left := m.items[:0]
	for _, i := range m.items {
		stays := !i.State.Ended() || !i.moved.Before(before)
		_, trace, err := m.f.ItemTrace(t.Context(), queue, i.ID)
		if !stays {
			isError(t, ledger.ErrNotFound, err)
			continue
		}
		noError(t, err)
		if n := len(trace); n == 0 && i.Moves > 0 || n > 0 && (trace[n-1].N != i.Moves || int64(n) < i.Moves) {
			t.Fatalf("%s has %d moves after %d: %+v", i.ID, n, i.Moves, trace)
		}
		left = append(left, i)
	}
	m.items = left
}
