package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"tallyman/engine/trial"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/silence"
	"tallyman/rules"
)

// quiet is a silence from a minute after eight until another.
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

// What resolves while it is silenced goes without a word; what was told before is taken back at once.
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

// A rise that is over when the silence ends is no news any more.
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

// A flood that a silence held back is told as every flood is: the limit holds.
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

// What a rule tells of itself is silenced by the rule and by its own type.
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

// Nothing silences a rule in shadow: it disturbs nobody.
func TestSilencesLeaveShadowsAlone(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}}
	var fault error
	r := manyBins()
	r.Shadow = true
	try := hushed(t, r, &bins, &fault, quiet(t, "s_1", 0, 10, "rule=negative-bin-stock"))
	at(t, try, 0, "firing W1 Bin A is at -1")
}
