package engine_test

import (
	"fmt"
	"testing"
)

func TestSilencedGroup(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}}
	var fault error
	try := hushed(t, grouped(manyBins()), &bins, &fault, quiet(t, "s_1", 0, 10, "warehouse=W1"), quiet(t, "s_2", 15, 25, "warehouse=W1"))
	if c := at(t, try, 0); c.Run.Firing != 1 || c.Findings[0].Silenced != "s_1" {
		t.Errorf("%+v", c.Findings)
	}
	bins = append(bins, bin{wh: "W1", code: "B", qty: -1})
	at(t, try, 5)
	first := at(t, try, 10, "firing W1 2 bins in W1").Notices[0].Notice
	if first.Episode != fmt.Sprint(atEight.UnixMicro()) || first.Count != 2 {
		t.Errorf("%+v", first)
	}
	// One that joins while it is silenced joins when it is not.
	bins = append(bins, bin{wh: "W1", code: "C", qty: -1})
	if c := at(t, try, 15); len(c.Findings) != 1 || c.Findings[0].Key != `["C"]` || c.Findings[0].Silenced != "s_2" {
		t.Errorf("%+v", c.Findings)
	}
	joined := at(t, try, 25, "firing W1 3 bins in W1").Notices[0].Notice
	if joined.Episode != first.Episode || joined.ID == first.ID {
		t.Errorf("%+v", joined)
	}
	at(t, try, 30)
	bins = nil
	at(t, try, 35, "resolved W1 Resolved: 3 bins in W1")
}

// The key of a group silences it. The key of a member does not, because no notice has that key.
func TestSilencedGroupKey(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}, {wh: "W2", code: "B", qty: -1}}
	var fault error
	try := hushed(t, grouped(manyBins()), &bins, &fault, quiet(t, "s_1", 0, 10, `key=["W1"]`), quiet(t, "s_2", 0, 10, `key=["B"]`))
	at(t, try, 0, "firing W2 1 bins in W2")
	at(t, try, 10, "firing W1 1 bins in W1")
}

// All findings of the group's notice are gone. Then findings that joined during a silence begin a new episode of the
// group with a notice of its own.
func TestSilencedMemberOutlivesItsGroup(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}}
	var fault error
	try := hushed(t, grouped(manyBins()), &bins, &fault, quiet(t, "s_1", 5, 20, "warehouse=W1"))
	first := at(t, try, 0, "firing W1 1 bins in W1").Notices[0].Notice
	bins = append(bins, bin{wh: "W1", code: "B", qty: -1})
	at(t, try, 5)
	bins = bins[1:]
	at(t, try, 10, "resolved W1 Resolved: 1 bins in W1")
	at(t, try, 15)
	second := at(t, try, 20, "firing W1 1 bins in W1").Notices[0].Notice
	if second.ID == first.ID || second.Episode != fmt.Sprint(minute(5).UnixMicro()) {
		t.Errorf("%+v", second)
	}
	bins = nil
	at(t, try, 25, "resolved W1 Resolved: 1 bins in W1")
}

// A finding that is absent when its group gets a notice is in no notice. It joins the group when it comes back.
func TestSilencedMemberThatIsAway(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}, {wh: "W1", code: "B", qty: -1}}
	var fault error
	r := grouped(manyBins())
	r.KeepFiringFor = 30 * m
	try := hushed(t, r, &bins, &fault, quiet(t, "s_1", 0, 10, "warehouse=W1"))
	at(t, try, 0)
	both := bins
	bins = bins[:1]
	at(t, try, 5)
	at(t, try, 10, "firing W1 1 bins in W1")
	bins = both
	at(t, try, 15, "firing W1 2 bins in W1")
	at(t, try, 20)
}

func TestSilencedMemberThatMoves(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}}
	var fault error
	try := hushed(t, grouped(manyBins()), &bins, &fault, quiet(t, "s_1", 0, 20, "warehouse=W2"))
	at(t, try, 0, "firing W1 1 bins in W1")
	bins[0].wh = "W2"
	at(t, try, 5, "resolved W1 Resolved: 1 bins in W1")
	at(t, try, 10)
	at(t, try, 20, "firing W2 1 bins in W2")
	bins = nil
	at(t, try, 25, "resolved W2 Resolved: 1 bins in W2")
}

// A higher priority of the group causes a new notice, and only a higher one.
func TestSilencedGroupRises(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}, {wh: "W1", code: "B", qty: -1}}
	var fault error
	try := hushed(t, grouped(manyBins()), &bins, &fault, quiet(t, "s_1", 5, 15, "warehouse=W1"))
	at(t, try, 0, "firing W1 2 bins in W1")
	bins[0].qty = -200
	if c := at(t, try, 5); len(c.Findings) != 2 || c.Findings[1].Silenced != "s_1" {
		t.Errorf("%+v", c.Findings)
	}
	bins[0].qty = -2
	if c := at(t, try, 10); len(c.Findings) != 2 || c.Findings[1].Silenced != "" {
		t.Errorf("%+v", c.Findings)
	}
	at(t, try, 15)
}
