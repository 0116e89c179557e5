package ledgertest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/internal/ledger"
)

// model is a simple model of how a ledger must treat the claims of one rule and scope.
type model struct {
	done    int // the last firing that is done or skipped
	running int // 0 = none
	node    string
	until   time.Time
	claim   ledger.Claim // the current claim
	made    map[int]int  // commits by firing
}

// checkClaims makes random claims on the ledger and on the model, and compares the two.
func checkClaims(t *testing.T, f *fixture) {
	t.Helper()
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		name := fmt.Sprintf("rule-%d", round)
		if _, err := f.Register(t.Context(), name, "", 0, f.clock.Now()); err != nil {
			rt.Fatal(err)
		}
		m := &machine{f: f, t: t, rule: name, model: model{made: map[int]int{}}}
		rt.Repeat(rapid.StateMachineActions(m))
	})
}

// machine is the state machine of rapid; its exported methods are the actions.
type machine struct {
	f     *fixture
	t     *testing.T
	rule  string
	model model
	old   []ledger.Claim // earlier claims

	commits int
}

// Claim asks for a firing near the last one.
func (m *machine) Claim(t *rapid.T) {
	n := max(1, m.model.done+rapid.IntRange(-1, 3).Draw(t, "ahead"))
	node := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "node")
	c, err := m.f.Claim(m.t.Context(), m.rule, "", 0, due(n), node, lease)
	now := m.f.clock.Now()
	abandoned := m.model.running != 0 && !m.model.until.After(now)
	switch {
	case abandoned:
		n = m.model.running
	case n <= m.model.done:
		must(t, err, ledger.ErrDone)
		return
	case m.model.running != 0:
		must(t, err, ledger.ErrBusy)
		return
	}
	must(t, err, nil)
	if !c.Due.Equal(due(n)) || c.Repeated != abandoned || c.Token <= m.model.claim.Token {
		t.Fatalf("claim %+v for firing %d, abandoned %t, after %+v", c, n, abandoned, m.model.claim)
	}
	if m.model.claim.Node != "" {
		m.old = append(m.old, m.model.claim)
	}
	m.model.running, m.model.node, m.model.until, m.model.claim = n, node, now.Add(lease), c
}

// Commit commits with the current claim.
func (m *machine) Commit(t *rapid.T) {
	again := rapid.Bool().Draw(t, "again")
	run := commitOf(m.model.claim)
	run.Again = again
	m.commits++
	run.Run.Rows = m.commits // every commit is different
	_, err := m.f.Commit(m.t.Context(), m.model.claim, run)
	if m.model.running == 0 {
		must(t, err, ledger.ErrFenced)
		return
	}
	must(t, err, nil)
	if !again {
		m.model.made[m.model.running]++
		m.model.done, m.model.running = max(m.model.done, m.model.running), 0
	}
}

// CommitStale commits with an old claim.
func (m *machine) CommitStale(t *rapid.T) {
	if len(m.old) == 0 {
		t.Skip("no claim was lost yet")
	}
	c := rapid.SampledFrom(m.old).Draw(t, "claim")
	run := commitOf(c)
	m.commits++
	run.Run.Rows = m.commits
	_, err := m.f.Commit(m.t.Context(), c, run)
	must(t, err, ledger.ErrFenced)
}

// Renew renews the current claim.
func (m *machine) Renew(t *rapid.T) {
	err := m.f.Renew(m.t.Context(), m.model.claim, lease)
	if m.model.running == 0 {
		must(t, err, ledger.ErrFenced)
		return
	}
	must(t, err, nil)
	m.model.until = m.f.clock.Now().Add(lease)
}

// Release gives the current firing back, and claims it again.
func (m *machine) Release(t *rapid.T) {
	err := m.f.Release(m.t.Context(), m.model.claim)
	if m.model.running == 0 {
		must(t, err, ledger.ErrFenced)
		return
	}
	must(t, err, nil)
	m.old = append(m.old, m.model.claim)
	m.model.until = time.Time{}
	m.model.claim = ledger.Claim{Token: m.model.claim.Token}
	m.reclaim(t)
}

// reclaim claims the firing whose claim has become void, so that the model has a valid claim again.
func (m *machine) reclaim(t *rapid.T) {
	c, err := m.f.Claim(m.t.Context(), m.rule, "", 0, due(m.model.running), "b", lease)
	must(t, err, nil)
	if !c.Repeated || !c.Due.Equal(due(m.model.running)) {
		t.Fatalf("claim %+v after a release", c)
	}
	m.model.claim, m.model.node, m.model.until = c, "b", m.f.clock.Now().Add(lease)
}

// Rewind moves the watermark, unless a firing runs. Rewind voids the claim of an abandoned firing.
func (m *machine) Rewind(t *rapid.T) {
	_, err := m.f.Rewind(m.t.Context(), Ann, &ledger.Rewind{Rule: m.rule, Columns: []string{"id"}, To: mark(1)})
	switch {
	case m.model.running == 0:
		must(t, err, nil)
	case m.model.until.After(m.f.clock.Now()):
		must(t, err, ledger.ErrBusy)
	default:
		must(t, err, nil)
		m.old = append(m.old, m.model.claim)
		m.reclaim(t)
	}
}

// Skip skips a firing.
func (m *machine) Skip(t *rapid.T) {
	n := max(1, m.model.done+rapid.IntRange(-1, 2).Draw(t, "ahead"))
	recorded, err := m.f.Skip(m.t.Context(), m.rule, "", 0, due(n), "a", "overlap")
	must(t, err, nil)
	if want := n != m.model.running && n > m.model.done; recorded != want {
		t.Fatalf("firing %d was recorded as skipped: %t, want %t", n, recorded, want)
	}
	if n != m.model.running {
		m.model.done = max(m.model.done, n)
	}
}

// Wait lets time pass.
func (m *machine) Wait(t *rapid.T) {
	m.f.clock.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
}

// Check compares the states.
func (m *machine) Check(t *rapid.T) {
	s, err := m.f.Scope(m.t.Context(), m.rule, "")
	must(t, err, nil)
	if m.model.done > 0 && !s.Done.Equal(due(m.model.done)) || m.model.done == 0 && !s.Done.IsZero() {
		t.Fatalf("done up to %s, want firing %d", s.Done, m.model.done)
	}
	alive := m.model.running != 0 && m.model.until.After(m.f.clock.Now())
	if alive != (s.Running != nil) {
		t.Fatalf("running %+v, want alive %t", s.Running, alive)
	}
	if alive && (s.Running.Token != m.model.claim.Token || s.Running.Node != m.model.node) {
		t.Fatalf("running %+v, want %+v", s.Running, m.model.claim)
	}
	for n, times := range m.model.made {
		if times > 1 {
			t.Fatalf("firing %d was made %d times", n, times)
		}
	}
}

func must(t *rapid.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got the error %v, want %v", err, want)
	}
}
