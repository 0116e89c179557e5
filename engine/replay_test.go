package engine_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"tallyman/internal/notice"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// A node dies with a firing whose rows change before another repeats it. The repetition has the due time of the first
// try, so what both would have told has one id, and what only the first saw is not told at all.
func TestRepeatedFiringOfOtherRows(t *testing.T) {
	inWorld(t, func(w *world) {
		scans := 0
		w.source.Rows = func(_ context.Context, _ scanners.Request) ([][]row.Value, error) {
			if scans++; scans == 1 {
				w.ledger.Steal("negative-bin-stock", "119240", "z", 30*time.Second) // z dies at once
				w.set(stock("A-03", -3), stock("A-02", -300))
				return [][]row.Value{stock("A-01", -3), stock("A-02", -3)}, nil
			}
			return w.current(), nil
		}
		w.start(w.options("a"))
		pass(6 * m)
		w.set()
		pass(5 * m)
		opened := "946685100000000" // 00:05, whenever it was repeated
		want := map[string]string{}
		for _, key := range []string{`["A-02"]`, `["A-03"]`} {
			for _, s := range []notice.Status{notice.Firing, notice.Resolved} {
				want[notice.ID("negative-bin-stock", "119240", key, opened, s, 0)] = key
			}
		}
		got := map[string]string{}
		for _, n := range w.notices() {
			got[n.ID] = n.Key
		}
		if !maps.Equal(got, want) || len(w.notices()) != 4 {
			t.Errorf("told %q", w.told())
		}
		w.wantDues("5 ok", "10 ok")
	})
}

// skewed is a clock that is ahead.
type skewed struct{ by time.Duration }

func (s skewed) Now() time.Time { return time.Now().Add(s.by) }

func (skewed) Real(d time.Duration) time.Duration { return d }

func TestTwoNodesWithSkewedClocks(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].Schedule.Cron = "* * * * *"
		slow(w, 10*time.Second)
		w.set(stock("A-01", -3))
		for name, by := range map[string]time.Duration{"a": 0, "b": 2 * time.Second} {
			o := w.options(name)
			o.Clock = skewed{by}
			w.start(o)
		}
		pass(10*m + 30*time.Second)
		var want []string
		for _, minute := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"} {
			want = append(want, minute+" ok")
		}
		w.wantDues(want...)
		if len(w.told()) != 1 {
			t.Errorf("told %q", w.told())
		}
	})
}

// movable is a clock that is set.
type movable struct{ by cell[time.Duration] }

func (c *movable) Now() time.Time { return time.Now().Add(c.by.get()) }

func (*movable) Real(d time.Duration) time.Duration { return d }

func TestClockThatIsSet(t *testing.T) {
	inWorld(t, func(w *world) {
		c := &movable{}
		o := w.options("a")
		o.Clock = c
		w.start(o)
		pass(6 * m)
		c.by.set(time.Hour) // 01:06: what lies between is missed, and caught up with once
		pass(2 * m)
		w.wantDues("5 ok", "65 ok")
		c.by.set(-30 * m) // 23:38 of the day before: firings that are done are not done again
		pass(90 * m)
		w.wantDues("5 ok", "65 ok")
		pass(10 * m)
		got := w.dues()
		if !slices.Equal(got[:3], []string{"5 ok", "65 ok", "70 ok"}) {
			t.Errorf("%q", got)
		}
	})
}
