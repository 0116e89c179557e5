package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/engine/trial"
	"tallyman/engine/why"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/rules"
	"tallyman/rules/deliver"
)

// quiet returns a silence from one minute after eight until another.
func quiet(t testing.TB, id string, from, until int, matchers ...string) silence.Silence {
	t.Helper()
	s := silence.Silence{ID: id, From: minute(from), Until: minute(until)}
	for _, text := range matchers {
		m, err := silence.ParseMatcher(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Matchers = append(s.Matchers, m)
	}
	if err := s.Check(atEight); err != nil {
		t.Fatal(err)
	}
	return s
}

func minute(n int) time.Time { return atEight.Add(time.Duration(n) * time.Minute) }

// hushed is a binTrial under silences.
func hushed(t testing.TB, r *rules.Rule, bins *[]bin, fault *error, silences ...silence.Silence) *trial.Trial {
	t.Helper()
	var set silence.Set
	set.Replace(silences)
	return binTrialFrom(t, r, bins, fault, trial.Start{Silencer: &set})
}

// at runs the firing that is due some minutes after eight.
func at(t *testing.T, try *trial.Trial, n int, want ...string) *ledger.Commit {
	t.Helper()
	c := runTrial(t, try, minute(n))
	same(t, toldBy(c), want)
	return c
}

func TestSilencedFinding(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}, {wh: "W2", code: "B", qty: -1}}
	var fault error
	r := manyBins()
	r.For = 5 * time.Minute
	try := hushed(t, r, &bins, &fault, quiet(t, "s_1", 0, 15, "warehouse=W1"), quiet(t, "s_2", 0, 12, "area=~repl.*", "warehouse!=W2"))
	at(t, try, 0)
	c := at(t, try, 5, "firing W2 Bin B is at -1")
	if c.Run.Firing != 2 || c.Run.Notices != 1 || c.Findings[0].Silenced != "s_1 s_2" || c.Findings[0].Ordinal != 0 || len(c.Findings[0].Row) == 0 {
		t.Errorf("%+v, %+v", c.Run, c.Findings[0])
	}
	if c = at(t, try, 10); len(c.Findings) != 0 {
		t.Errorf("what goes on being silenced is written: %+v", c.Findings)
	}
	c = at(t, try, 15, "firing W1 Bin A is at -1")
	n := c.Notices[0].Notice
	if n.Episode != fmt.Sprint(minute(5).UnixMicro()) || !n.CreatedAt.Equal(minute(15)) || c.Findings[0].Silenced != "" {
		t.Errorf("%+v, %+v", n, c.Findings[0])
	}
	at(t, try, 20)
	bins = nil
	at(t, try, 25, "resolved W1 Resolved: Bin A is at -1", "resolved W2 Resolved: Bin B is at -1")
}

// A silence of a key withholds only new notices of that finding. Deliveries, resolutions and other findings go on.
func TestSilencedKey(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}, {wh: "W1", code: "B", qty: -1}}
	var fault error
	try := hushed(t, manyBins(), &bins, &fault, quiet(t, "s_1", 0, 10, `key=["A"]`, "rule=negative-bin-stock"), quiet(t, "s_2", 10, 20, `key=~.*"[BC]".*`))
	if c := at(t, try, 0, "firing W1 Bin B is at -1"); c.Findings[0].Silenced != "s_1" {
		t.Errorf("%+v", c.Findings)
	}
	at(t, try, 5)
	bins = append(bins, bin{wh: "W1", code: "C", qty: -1}, bin{wh: "W1", code: "D", qty: -1})
	at(t, try, 10, "firing W1 Bin A is at -1", "firing W1 Bin D is at -1")
	bins = bins[:1]
	at(t, try, 15, "resolved W1 Resolved: Bin B is at -1", "resolved W1 Resolved: Bin D is at -1")
}

// A finding that begins and ends during a silence gets no notice. A finding with an earlier notice is resolved at once.
func TestSilencedResolution(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}}
	var fault error
	try := hushed(t, manyBins(), &bins, &fault, quiet(t, "s_1", 5, 60, "rule=negative-bin-stock"))
	at(t, try, 0, "firing W1 Bin A is at -1")
	bins = []bin{{wh: "W1", code: "B", qty: -1}}
	if c := at(t, try, 5, "resolved W1 Resolved: Bin A is at -1"); c.Run.Firing != 1 {
		t.Errorf("%+v", c.Run)
	}
	bins = nil
	at(t, try, 10)
	bins = []bin{{wh: "W1", code: "A", qty: -2}, {wh: "W1", code: "B", qty: -2}}
	at(t, try, 15)
	at(t, try, 60, "firing W1 Bin A is at -2", "firing W1 Bin B is at -2")
}

func TestSilencedReminder(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}}
	var fault error
	r := manyBins()
	r.RepeatInterval = 20 * time.Minute
	try := hushed(t, r, &bins, &fault, quiet(t, "s_1", 15, 45, "type=REP_NOTICE"))
	at(t, try, 0, "firing W1 Bin A is at -1")
	if c := at(t, try, 20); len(c.Findings) != 1 || c.Findings[0].Silenced != "s_1" || c.Findings[0].Ordinal != 1 {
		t.Errorf("%+v", c.Findings)
	}
	at(t, try, 40)
	at(t, try, 45, "firing W1 Bin A is at -1")
	at(t, try, 60)
	at(t, try, 65, "firing W1 Bin A is at -1")
}

// A higher priority that is over before the silence ends causes no notice.
func TestSilencedRise(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}, {wh: "W1", code: "B", qty: -1}}
	var fault error
	try := hushed(t, manyBins(), &bins, &fault, quiet(t, "s_1", 5, 20, "scope=119240"))
	at(t, try, 0, "firing W1 Bin A is at -1", "firing W1 Bin B is at -1")
	bins[0].qty, bins[1].qty = -200, -200
	if c := at(t, try, 5); len(c.Findings) != 2 || c.Findings[0].Silenced != "s_1" || c.Findings[0].Priority != 3 {
		t.Errorf("%+v", c.Findings)
	}
	bins[1].qty = -2
	if c := at(t, try, 10); len(c.Findings) != 1 || c.Findings[0].Silenced != "" {
		t.Errorf("%+v", c.Findings)
	}
	c := at(t, try, 20, "firing W1 Bin A is at -200")
	if n := c.Notices[0].Notice; n.Priority != 5 || n.Episode != fmt.Sprint(atEight.UnixMicro()) {
		t.Errorf("%+v", n)
	}
	at(t, try, 25)
}

// When a silence ends with many withheld findings, limit.notices applies to their notices.
func TestSilencedDigest(t *testing.T) {
	t.Parallel()
	var bins []bin
	for i := range 9 {
		bins = append(bins, bin{wh: "W1", code: fmt.Sprint(i), qty: -1})
	}
	var fault error
	r := manyBins()
	r.Title, r.Limit.Notices = "Negative stock", 2
	try := hushed(t, r, &bins, &fault, quiet(t, "s_1", 0, 10, "rule=~.*stock"))
	if c := at(t, try, 0); c.Run.Firing != 9 {
		t.Errorf("%+v", c.Run)
	}
	at(t, try, 10, "firing W1 Bin 0 is at -1", "firing W1 Bin 1 is at -1", "firing W1 7 more: Negative stock")
	at(t, try, 15)
}

func TestSilencedResult(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}, {wh: "W1", code: "B", qty: 1}}
	var fault error
	try := hushed(t, resultRule(), &bins, &fault, quiet(t, "s_1", 0, 10, "warehouse=W1"))
	if c := at(t, try, 0); c.Run.Firing != 1 || c.Run.Matched != 2 || c.Findings[0].Silenced != "s_1" {
		t.Errorf("%+v", c.Run)
	}
	at(t, try, 5)
	at(t, try, 10, "firing W1 2 rows")
	at(t, try, 15)
}

// Alerts about a rule are silenced by the rule, and by the type of the alert.
func TestSilencedAlert(t *testing.T) {
	t.Parallel()
	var bins []bin
	fault := errors.New("away")
	r := manyBins()
	r.Scope, r.OnError = "W1", rules.PolicyAlert
	try := hushed(t, r, &bins, &fault, quiet(t, "s_1", 0, 10, "rule=negative-bin-stock"))
	c := at(t, try, 0)
	if len(c.Findings) != 1 || c.Findings[0].Key != finding.OnError || c.Findings[0].Silenced != "s_1" || c.Run.Outcome != ledger.OutcomeFailed {
		t.Errorf("%+v", c.Findings)
	}
	if c = runTrial(t, try, minute(10)); len(c.Notices) != 1 || c.Findings[0].Silenced != "" {
		t.Errorf("%+v", c.Notices)
	}
	same(t, toldBy(runTrial(t, try, minute(15))), nil)
}

// Nothing silences a rule in shadow, because its notices disturb nobody.
func TestSilencesLeaveShadowsAlone(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}}
	var fault error
	r := manyBins()
	r.Shadow = true
	try := hushed(t, r, &bins, &fault, quiet(t, "s_1", 0, 10, "rule=negative-bin-stock"))
	at(t, try, 0, "firing W1 Bin A is at -1")
}

// silences sets the silences of a world from now on. Its nodes see later changes.
func silences(t *testing.T, until time.Time, matchers ...string) *silence.Set {
	t.Helper()
	set := &silence.Set{}
	s := quiet(t, "s_1", 0, 1, matchers...)
	s.From, s.Until, s.Comment = time.Time{}, until, "stocktake"
	set.Replace([]silence.Silence{s})
	return set
}

// A silence drops rows of mode event for good: the run counts them, and the watermark moves over them.
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

// Nodes with the same silences send each notice once, whichever node runs the firing, even after a crash.
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
		if heldBy(y) != "silenced" || y.Reasons[0].Text != "silence s_1 (stocktake) withholds the notices until 2000-01-01 00:17:00Z" {
			t.Errorf("held %v", y.Reasons)
		}
		w.isNext(t, y, why.NextFires, 20*m)
		set.Replace(nil)
		y = w.why(t, n, "A-01")
		if heldBy(y) != "was_silenced" || !strings.HasPrefix(y.Reasons[0].Text, "silence s_1 withheld the notice") {
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
		w.rules[0].Deliver = append(w.rules[0].Deliver, deliver.Entry{Sink: "sms"})
		n, _ := w.withPush()
		w.set(stock("A-01", -3))
		pass(6 * m)
		w.ledger.Tell("sms", func(d *ledger.DeliveryRecord) { d.HeldBy, d.Next = "s_1", midnight.Add(20*m) })
		want := "push_silenced: the delivery to sms is held back by silence s_1; the node checks the delivery again at 2000-01-01 00:20:00Z, or when somebody ends the silence"
		if got := pushHeld(w.why(t, n, "A-01")); got != want {
			t.Errorf("%s", got)
		}
	})
}
