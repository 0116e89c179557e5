package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/engine/why"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/rules"
)

// silences are those of a world, from now on; the nodes that were given them see what is replaced.
func silences(t *testing.T, until time.Time, matchers ...string) *silence.Set {
	t.Helper()
	set := &silence.Set{}
	s := quiet(t, "s_1", 0, 1, matchers...)
	s.From, s.Until, s.Comment = time.Time{}, until, "stocktake"
	set.Replace([]silence.Silence{s})
	return set
}

// Rows of mode event that come during a silence are gone when it ends: they are counted, and the watermark moves over them.
func TestSilencedEvents(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		o := w.options("a")
		o.Silencer = silences(t, midnight.Add(5*m), "rule=replenish-pick-face")
		w.start(o)
		n.change(func() {
			n.table = append(n.table, need{1, "A-01", 5, midnight}, need{2, "A-02", 5, midnight}, need{3, "A-03", 0, midnight})
		})
		pass(3 * m)
		n.change(func() { n.table = append(n.table, need{4, "A-04", 5, midnight.Add(2 * m)}) })
		pass(2 * m)
		n.change(func() { n.table = append(n.table, need{5, "A-05", 5, midnight.Add(5 * m)}) })
		pass(2 * m)
		if got := w.told(); !slices.Equal(got, []string{"event Replenish A-05: 5"}) {
			t.Errorf("told %q", got)
		}
		var counts []int
		for _, d := range w.ledger.Dropped() {
			counts = append(counts, d["s_1"])
		}
		if !slices.Equal(counts, []int{2, 1, 0}) {
			t.Errorf("dropped %v", counts)
		}
	})
}

// Two nodes that know the same silences tell once, whichever runs the firing, and so does one that takes over after a crash.
func TestSilencesOnTwoNodes(t *testing.T) {
	inWorld(t, func(w *world) {
		set := silences(t, midnight.Add(17*m), "warehouse=119240")
		w.set(stock("A-01", -3))
		for _, name := range []string{"a", "b"} {
			o := w.options(name)
			o.Silencer = set
			w.start(o)
		}
		pass(16 * m)
		if runs := w.ledger.Runs(); len(runs) != 3 || runs[2].Firing != 1 || len(w.told()) != 0 {
			t.Errorf("%+v, told %q", runs, w.told())
		}
		pass(30 * m)
		if got := w.told(); !slices.Equal(got, []string{"firing Bin A-01 is at -3"}) {
			t.Errorf("told %q", got)
		}
		// One that somebody ends is over for the next run.
		w.set(stock("A-01", -3), stock("A-02", -3))
		s := quiet(t, "s_2", 0, 1, "warehouse=119240")
		s.From, s.Until = time.Time{}, midnight.Add(24*time.Hour)
		set.Replace([]silence.Silence{s})
		pass(10 * m)
		s.Ended = midnight.Add(56 * m)
		set.Replace([]silence.Silence{s})
		pass(5 * m)
		if got := w.told(); !slices.Equal(got, []string{"firing Bin A-01 is at -3", "firing Bin A-02 is at -3"}) {
			t.Errorf("told %q", got)
		}
	})
}

func TestWhySilenced(t *testing.T) {
	inWorld(t, func(w *world) {
		o := w.options("a")
		set := silences(t, midnight.Add(17*m), "warehouse=119240")
		o.Silencer = set
		w.set(stock("A-01", -3))
		n := w.start(o)
		pass(6 * m)
		y := w.why(t, n, "A-01")
		if heldBy(y) != "silenced" || y.Reasons[0].Text != "silence s_1 (stocktake) holds back what there is to tell until 2000-01-01 00:17:00Z" {
			t.Errorf("held %v", y.Reasons)
		}
		w.isNext(t, y, why.NextFires, 20*m)
		set.Replace(nil)
		y = w.why(t, n, "A-01")
		if heldBy(y) != "was_silenced" || !strings.HasPrefix(y.Reasons[0].Text, "silence s_1 held back") {
			t.Errorf("held %v", y.Reasons)
		}
		w.isNext(t, y, why.NextFires, 10*m)
		pass(5 * m)
		y = w.why(t, n, "A-01")
		if heldBy(y) != "repeat" || len(w.told()) != 1 {
			t.Errorf("held %v", y.Reasons)
		}
	})
}

func TestWhyEventsAreDropped(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		o := w.options("a")
		o.Silencer = silences(t, midnight.Add(time.Hour), "rule=replenish-pick-face")
		a := w.start(o)
		pass(3 * m)
		n.change(func() { n.table = append(n.table, need{1, "A-01", 5, midnight.Add(m)}) })
		y, err := a.Why(w.t.Context(), "replenish-pick-face", nil, "1", true)
		if err != nil {
			t.Fatal(err)
		}
		if y.Next != nil || !strings.Contains(heldBy(y), "silenced") || !strings.Contains(y.Reasons[len(y.Reasons)-1].Text, "drops new rows until") {
			t.Errorf("next %+v, held %v", y.Next, y.Reasons)
		}
	})
}

func TestWhyAPushIsSilenced(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].Deliver = append(w.rules[0].Deliver, rules.Deliver{Sink: "sms"})
		n, _ := w.withPush()
		w.set(stock("A-01", -3))
		pass(6 * m)
		w.ledger.Tell("sms", func(d *ledger.DeliveryRecord) { d.HeldBy, d.Next = "s_1", midnight.Add(20*m) })
		want := "push_silenced: the delivery to sms is held back by silence s_1; it is looked at again at 2000-01-01 00:20:00Z, or when somebody ends that"
		if got := pushHeld(w.why(t, n, "A-01")); got != want {
			t.Errorf("%s", got)
		}
	})
}
