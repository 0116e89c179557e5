package engine

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// gateModel is what a gate should do.
type gateModel struct {
	t       *rapid.T
	gate    *gate
	places  int
	took    time.Duration
	inside  int
	waiting []*waitingFiring // in the order of their coming
}

type waitingFiring struct {
	stop chan struct{}
	in   bool
}

// TestGate: a gate lets firings in first come, first served, and never more than it may.
func TestGate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(*testing.T) {
			places := rapid.IntRange(1, 5).Draw(rt, "places")
			m := &gateModel{t: rt, gate: &gate{places: places}, places: places}
			for range rapid.IntRange(1, 60).Draw(rt, "steps") {
				rapid.SampledFrom([]func(){m.enter, m.enter, m.leave, m.stop}).Draw(rt, "step")()
				m.check()
			}
			for len(m.waiting) > 0 {
				m.stop()
			}
			synctest.Wait()
		})
	})
}

func (m *gateModel) enter() {
	f := &waitingFiring{stop: make(chan struct{})}
	m.waiting = append(m.waiting, f)
	go func() { f.in = m.gate.enter(f.stop) }()
	synctest.Wait()
}

func (m *gateModel) leave() {
	if m.inside == 0 {
		return
	}
	took := time.Duration(rapid.IntRange(0, 100).Draw(m.t, "ms")) * time.Millisecond
	m.inside--
	switch {
	case took == 0:
	case m.took == 0:
		m.took = took
	default:
		m.took += (took - m.took) / 16
	}
	m.gate.leave(took)
	synctest.Wait()
}

func (m *gateModel) stop() {
	if len(m.waiting) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.waiting)-1).Draw(m.t, "which")
	close(m.waiting[i].stop)
	synctest.Wait()
	if m.waiting[i].in {
		m.t.Fatal("a firing that was stopped was let in")
	}
	m.waiting = slices.Delete(m.waiting, i, i+1)
}

// check compares the firings that the gate has let in with the model.
func (m *gateModel) check() {
	most := m.places
	if m.took > 0 {
		most = m.places * (1 + min(int(soon/m.took), 100))
	}
	for len(m.waiting) > 0 && m.inside < most {
		if !m.waiting[0].in {
			m.t.Fatalf("%d are inside, %d may be, and the first that waits was not let in", m.inside, most)
		}
		m.inside, m.waiting = m.inside+1, m.waiting[1:]
	}
	for _, f := range m.waiting {
		if f.in {
			m.t.Fatalf("more than %d are inside", most)
		}
	}
}
