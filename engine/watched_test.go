package engine_test

import (
	"slices"
	"testing"
	"time"

	"tallyman/internal/silence"
	"tallyman/rules"
)

// A firing finding is told again when a column of notify_again_on has another value than when it was told last, also
// after a restart.
func TestNotifyAgainOn(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].NotifyAgainOn = []string{"qty"}
		w.rules[0].Notice.Priority = "3"
		n := w.start(w.options("a"))
		w.set(stock("A-01", -3), stock("A-02", -9))
		pass(6 * m)
		w.set(stock("A-01", -4), stock("A-02", -9))
		pass(10 * m)
		n.stop()
		w.start(w.options("b"))
		pass(10 * m)
		w.set(stock("A-01", -3))
		pass(5 * m)
		got := w.told()
		slices.Sort(got[:2])
		slices.Sort(got[3:])
		if want := []string{
			"firing Bin A-01 is at -3", "firing Bin A-02 is at -9", "firing Bin A-01 is at -4",
			"firing Bin A-01 is at -3", "resolved Resolved: Bin A-02 is at -9",
		}; !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
		ids := map[string]bool{}
		for _, n := range w.notices() {
			ids[n.ID] = true
		}
		if len(ids) != 5 {
			t.Errorf("%d different notices", len(ids))
		}
	})
}

// A rule that begins to watch a column tells nothing of what is open: only what changes from then on is news.
func TestNotifyAgainOnIsAdded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		n := w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(6 * m)
		w.set(stock("A-01", -4))
		w.replace(n, true, changed(w.rules[0], func(r *rules.Rule) { r.NotifyAgainOn = []string{"qty"} }))
		pass(10 * m)
		if got := w.told(); len(got) != 1 {
			t.Fatalf("told %q", got)
		}
		w.set(stock("A-01", -5))
		pass(5 * m)
		if got := w.told(); len(got) != 2 || got[1] != "firing Bin A-01 is at -5" {
			t.Errorf("told %q", got)
		}
	})
}

// A change that a silence holds back is told when the silence has ended, if the value still differs.
func TestNotifyAgainOnIsSilenced(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].NotifyAgainOn = []string{"qty"}
		var quiet cell[[]silence.Holding]
		o := w.options("a")
		o.Silencer = holdingFunc(func(time.Time, *silence.Subject) []silence.Holding { return quiet.get() })
		w.start(o)
		w.set(stock("A-01", -3))
		pass(6 * m)
		quiet.set([]silence.Holding{{ID: "s_1"}})
		w.set(stock("A-01", -4))
		pass(10 * m)
		if got := w.told(); len(got) != 1 {
			t.Fatalf("told %q", got)
		}
		quiet.set(nil)
		pass(10 * m)
		if got := w.told(); len(got) != 2 || got[1] != "firing Bin A-01 is at -4" {
			t.Errorf("told %q", got)
		}
	})
}

type holdingFunc func(at time.Time, about *silence.Subject) []silence.Holding

func (f holdingFunc) Holding(at time.Time, about *silence.Subject) []silence.Holding {
	return f(at, about)
}
