package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/engine/trial"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules"
)

var atEight = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

// runTrial runs the firing and returns what it commits.
func runTrial(t *testing.T, try *trial.Trial, due time.Time) *ledger.Commit {
	t.Helper()
	run, err := try.Run(t.Context(), due)
	if err != nil || len(run.Commits) != 1 {
		t.Fatalf("%+v, %v", run, err)
	}
	return run.Commits[0]
}

// toldBy returns the notices of a commit as "status warehouse title".
func toldBy(c *ledger.Commit) (list []string) {
	for _, n := range c.Notices {
		list = append(list, fmt.Sprintf("%s %s %s", n.Notice.Status, n.Notice.Warehouse, n.Notice.Title))
	}
	return list
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	var bins []bin
	var fault error
	r := manyBins()
	r.Title, r.Limit.Notices = "Negative stock", 2
	try := binTrial(t, r, &bins, &fault)
	for i := 9; i > 0; i-- {
		bins = append(bins, bin{wh: "W1", code: fmt.Sprintf("A-%d", i), qty: int64(-i)})
	}
	bins = append(bins, bin{wh: "W2", code: "B-1", qty: -500})
	c := runTrial(t, try, atEight)
	same(t, toldBy(c), []string{"firing W1 Bin A-1 is at -1", "firing W1 Bin A-2 is at -2", "firing W1 7 more: Negative stock", "firing W2 1 more: Negative stock"})
	d := c.Notices[2].Notice
	if d.Count != 7 || d.Priority != 3 || d.Type != "REP_NOTICE" || d.Key != `["digest","W1"]` || d.Episode != "1780300800000000" || d.Modal != "popup" ||
		d.Body != "Bin A-3 is at -3\nBin A-4 is at -4\nBin A-5 is at -5\nBin A-6 is at -6\nBin A-7 is at -7\n… and 2 more" || fmt.Sprint(d.Data) != "[{bin bin A-3} {qty -3}]" {
		t.Errorf("%+v", d)
	}
	if zh := d.Texts["zh"]; zh.Title != "另有 7 条：Negative stock" || !strings.HasPrefix(zh.Body, "货位 A-3 库存 -3\n") || !strings.HasSuffix(zh.Body, "\n……以及另外 2 条") {
		t.Errorf("%+v", zh)
	}
	if en := d.Texts["en"]; en.Title != d.Title || en.Body != d.Body { // Else a client that prefers English to Chinese would get Chinese.
		t.Errorf("%+v", en)
	}
	if n := c.Notices[3].Notice; n.Priority != 5 || n.Count != 1 {
		t.Errorf("%+v", n)
	}
	if c.Run.Notices != 4 || c.Run.Firing != 10 {
		t.Errorf("%+v", c.Run)
	}
	bins = bins[6:] // B-1
	same(t, toldBy(runTrial(t, try, atEight.Add(5*time.Minute))), nil)
	bins = bins[3:]
	same(t, toldBy(runTrial(t, try, atEight.Add(10*time.Minute))), []string{
		"resolved W1 Resolved: Bin A-1 is at -1", "resolved W1 Resolved: Bin A-2 is at -2", "resolved W1 Resolved: 7 more: Negative stock",
	})
	bins = nil
	c = runTrial(t, try, atEight.Add(15*time.Minute))
	same(t, toldBy(c), []string{"resolved W2 Resolved: 1 more: Negative stock"})
	if n := c.Notices[0].Notice; c.Notices[0].After == "" || !notice.IsDigest(n.ID) || n.Texts["zh"].Title != "已解除：另有 1 条：Negative stock" || n.Texts["en"].Title != n.Title {
		t.Errorf("%+v", c.Notices[0])
	}
}

// A finding with a notice of its own keeps that notice when a digest reminds of it. A finding of an older digest moves
// to the newer one.
func TestRemindersInADigest(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}, {wh: "W1", code: "C", qty: -1}}
	var fault error
	r := manyBins()
	r.Limit.Notices, r.RepeatInterval = 2, 10*time.Minute
	try := binTrial(t, r, &bins, &fault)
	own := runTrial(t, try, atEight).Notices[1].Notice.ID
	bins = append(bins, bin{wh: "W1", code: "B", qty: -1}, bin{wh: "W1", code: "D", qty: -1})
	c := runTrial(t, try, atEight.Add(10*time.Minute))
	same(t, toldBy(c), []string{"firing W1 Bin A is at -1", "firing W1 Bin B is at -1", "firing W1 2 more: negative-bin-stock"})
	first := c.Notices[2].Notice.ID
	if f := try.Findings(); f[2].NoticeID != own || f[2].Ordinal != 2 || f[3].NoticeID != first {
		t.Errorf("%+v", f[2:])
	}
	c = runTrial(t, try, atEight.Add(20*time.Minute))
	same(t, toldBy(c), []string{"firing W1 Bin A is at -1", "firing W1 Bin B is at -1", "firing W1 2 more: negative-bin-stock", "resolved W1 Resolved: 2 more: negative-bin-stock"})
	if c.Notices[3].After != first {
		t.Errorf("%+v", c.Notices[3])
	}
	bins = bins[1:2]
	c = runTrial(t, try, atEight.Add(25*time.Minute))
	same(t, toldBy(c), []string{"resolved W1 Resolved: Bin A is at -1", "resolved W1 Resolved: Bin B is at -1", "resolved W1 Resolved: 2 more: negative-bin-stock"})
	bins = nil
	same(t, toldBy(runTrial(t, try, atEight.Add(30*time.Minute))), []string{"resolved W1 Resolved: Bin C is at -1"})
}

func TestLimitCountsGroups(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}, {wh: "W2", code: "B", qty: -1}, {wh: "W2", code: "C", qty: -200}, {wh: "W3", code: "D", qty: -1}}
	var fault error
	r := grouped(manyBins())
	r.Limit.Notices = 1
	try := binTrial(t, r, &bins, &fault)
	c := runTrial(t, try, atEight)
	same(t, toldBy(c), []string{"firing W1 1 bins in W1", "firing W2 1 more: negative-bin-stock", "firing W3 1 more: negative-bin-stock"})
	if n := c.Notices[1].Notice; n.Count != 2 || n.Priority != 5 || n.Body != "2 bins in W2" {
		t.Errorf("%+v", n)
	}
	bins = bins[:3]
	same(t, toldBy(runTrial(t, try, atEight.Add(5*time.Minute))), []string{"resolved W3 Resolved: 1 more: negative-bin-stock"})
}

// A finding whose notice cannot be written is in no digest. The run is degraded, and the next run tries again.
func TestDigestWithoutWhatCannotBeTold(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}, {wh: "W1", code: "B", qty: -1}, {wh: "W1", code: "C", qty: -1, unlabeled: true}}
	var fault error
	r := manyBins()
	r.Limit.Notices = 1
	try := binTrial(t, r, &bins, &fault)
	c := runTrial(t, try, atEight)
	same(t, toldBy(c), []string{"firing W1 Bin A is at -1", "firing W1 1 more: negative-bin-stock"})
	if c.Run.Outcome != ledger.OutcomeDegraded || c.Run.Errored != 1 || c.Run.Matched != 2 || c.Run.Firing != 2 {
		t.Errorf("%+v", c.Run)
	}
	bins[2].unlabeled = false
	same(t, toldBy(runTrial(t, try, atEight.Add(5*time.Minute))), []string{"firing W1 Bin C is at -1"})
}

// TestDigestOfEvents also proves that a repeated pass makes the same notices, and that the passes of a firing do not
// share an id.
func TestDigestOfEvents(t *testing.T) {
	t.Parallel()
	var bins []bin
	var fault error
	r := manyBins()
	r.Mode, r.Limit.Notices, r.Notice.SendResolved = rules.ModeEvent, 1, false
	for i := range 3 {
		bins = append(bins, bin{wh: "W1", code: fmt.Sprintf("A-%d", 3-i), qty: -1})
	}
	var ids [2][]string
	for i := range ids {
		c := runTrial(t, binTrial(t, r, &bins, &fault), atEight)
		same(t, toldBy(c), []string{"event W1 Bin A-1 is at -1", "event W1 2 more: negative-bin-stock"})
		if n := c.Notices[1].Notice; n.Count != 2 || n.Body != "Bin A-2 is at -1\nBin A-3 is at -1" {
			t.Errorf("%+v", n)
		}
		ids[i] = []string{c.Notices[0].Notice.ID, c.Notices[1].Notice.ID}
	}
	same(t, ids[0], ids[1])
}

func TestDigestsOfSeveralPasses(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		w.rules[0].Limit.Notices, w.rules[0].Probe.MaxRows = 1, 4
		n.change(func() {
			for i := range int64(9) {
				n.table = append(n.table, need{i + 1, fmt.Sprintf("A-%d", i+1), 5, midnight.Add(time.Duration(i-20) * time.Second)})
			}
		})
		w.start(w.options("a"))
		pass(5 * m)
		var firsts []string
		count := 0
		for _, n := range w.notices() {
			count += n.Count
			if notice.IsDigest(n.ID) {
				firsts = append(firsts, n.Episode)
			}
		}
		if len(firsts) != 3 || len(slices.Compact(slices.Sorted(slices.Values(firsts)))) != 3 || len(w.notices()) != 6 || count != 9 {
			t.Errorf("%q stand for %d events; digests of %q", w.told(), count, firsts)
		}
	})
}
