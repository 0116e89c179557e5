package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
)

func TestGroupNotice(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "B", qty: -200}, {wh: "W2", code: "D", qty: -1}, {wh: "W1", code: "A", qty: -1}, {wh: "W1", code: "C", qty: 4}}
	var fault error
	r := grouped(manyBins())
	try := binTrial(t, r, &bins, &fault)
	c := runTrial(t, try, atEight)
	same(t, toldBy(c), []string{"firing W1 2 bins in W1", "firing W2 1 bins in W2"})
	n := c.Notices[0].Notice
	if n.Key != `["W1"]` || n.Count != 2 || n.Priority != 5 || n.Body != "A:-1 B:-200" || n.Data[0].Value != "bin A" || n.Episode != "1780300800000000" {
		t.Errorf("%+v", n)
	}
	for _, f := range c.Findings {
		if want := `"bin_code":"` + f.Key[2:3] + `"`; !strings.Contains(string(f.Row), want) || f.Group == "" {
			t.Errorf("%s in %s: row %s", f.Key, f.Group, f.Row)
		}
	}
	if c = runTrial(t, try, atEight.Add(5*time.Minute)); len(c.Notices) != 0 || len(c.Findings) != 0 {
		t.Errorf("an ongoing group makes %d notices and writes %d findings", len(c.Notices), len(c.Findings))
	}
	fault = errors.New("away")
	if c = runTrial(t, try, atEight.Add(10*time.Minute)); len(c.Notices) != 0 || len(c.Findings) != 0 || c.Run.Firing != 3 {
		t.Errorf("a failed run: %+v", c.Run)
	}
	fault = nil
	bins[3].qty = -1
	c = runTrial(t, try, atEight.Add(15*time.Minute))
	same(t, toldBy(c), []string{"firing W1 3 bins in W1"})
	if again := c.Notices[0].Notice; again.Episode != n.Episode || again.ID == n.ID || again.Count != 3 {
		t.Errorf("%+v", again)
	}
	bins = bins[1:2]
	same(t, toldBy(runTrial(t, try, atEight.Add(20*time.Minute))), []string{"resolved W1 Resolved: 3 bins in W1"})
	bins = nil
	same(t, toldBy(runTrial(t, try, atEight.Add(25*time.Minute))), []string{"resolved W2 Resolved: 1 bins in W2"})
}

// A group whose notice cannot be written makes the run degraded and delays no other group. It gets its notice as soon
// as the text can be written.
func TestGroupThatCannotBeTold(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1, unlabeled: true}, {wh: "W1", code: "B", qty: -1}, {wh: "W2", code: "C", qty: -1}}
	var fault error
	try := binTrial(t, grouped(manyBins()), &bins, &fault)
	c := runTrial(t, try, atEight)
	same(t, toldBy(c), []string{"firing W2 1 bins in W2"})
	if r := c.Run; r.Outcome != ledger.OutcomeDegraded || r.Errored != 2 || r.Matched != 1 || r.Firing != 1 || len(r.Samples) != 1 ||
		!strings.HasPrefix(r.Samples[0], `group ["W1"] of 2: field bin: is NULL`) {
		t.Errorf("%+v", r)
	}
	bins[0].unlabeled = false
	same(t, toldBy(runTrial(t, try, atEight.Add(5*time.Minute))), []string{"firing W1 2 bins in W1"})
	bins[2].wh, bins[0].unlabeled = "W1", true
	c = runTrial(t, try, atEight.Add(10*time.Minute))
	same(t, toldBy(c), nil)
	if c.Run.Firing != 3 || c.Run.Errored != 3 {
		t.Errorf("a row that cannot join does not leave either: %+v", c.Run)
	}
	bins[0].unlabeled = false
	same(t, toldBy(runTrial(t, try, atEight.Add(15*time.Minute))), []string{"firing W1 3 bins in W1", "resolved W2 Resolved: 1 bins in W2"})
}

func TestRowsOfAGroupThatCannotBeJudged(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}, {wh: "W1", code: "B", qty: -1}, {wh: "W1", code: "A", qty: -9}}
	var fault error
	r := grouped(manyBins())
	r.When = "1 / qty < 0"
	try := binTrial(t, r, &bins, &fault)
	c := runTrial(t, try, atEight)
	same(t, toldBy(c), []string{"firing W1 2 bins in W1"})
	if c.Run.Matched != 3 || c.Run.Outcome != ledger.OutcomeDegraded || c.Run.Samples[0] != `repeated key ["A"]` {
		t.Errorf("%+v", c.Run)
	}
	bins = []bin{{wh: "W1", code: "A", qty: 0}, {wh: "W1", code: "B", qty: 0}}
	c = runTrial(t, try, atEight.Add(5*time.Minute))
	same(t, toldBy(c), nil)
	if c.Run.Errored != 2 || c.Run.Firing != 2 {
		t.Errorf("%+v", c.Run)
	}
}

// resultRule judges its result as a whole.
func resultRule() *rules.Rule {
	r := manyBins()
	r.Per, r.Key, r.When = rules.PerResult, nil, "row_count < 2 or any(rows, .qty < 0)"
	r.Notice.Warehouse, r.Notice.Priority = `"W1"`, "row_count == 0 ? 5 : 3"
	r.Notice.Title, r.Notice.Body = map[string]string{"": "{{ .row_count }} rows"}, map[string]string{"": "{{ range .rows }}{{ .bin_code }} {{ end }}"}
	r.Notice.Fields = map[string]string{"bin": "row_count > 0 ? rows[0].bin_code : 'none'", "qty": "row_count"}
	return r
}

func TestResult(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: 1}, {wh: "W1", code: "B", qty: 1}}
	var fault error
	try := binTrial(t, resultRule(), &bins, &fault)
	c := runTrial(t, try, atEight)
	if len(c.Notices) != 0 || c.Run.Matched != 0 || c.Run.Rows != 2 {
		t.Errorf("%+v", c.Run)
	}
	bins[1].qty = -1
	c = runTrial(t, try, atEight.Add(5*time.Minute))
	same(t, toldBy(c), []string{"firing W1 2 rows"})
	if n := c.Notices[0].Notice; n.Key != "[]" || n.Body != "A B" || n.Data[0].Value != "A" || c.Run.Matched != 2 || c.Findings[0].Row != nil {
		t.Errorf("%+v, %+v", n, c.Run)
	}
	if c = runTrial(t, try, atEight.Add(10*time.Minute)); len(c.Findings)+len(c.Notices) != 0 || c.Run.Firing != 1 {
		t.Errorf("%+v", c.Run)
	}
	bins = nil
	c = runTrial(t, try, atEight.Add(15*time.Minute))
	same(t, toldBy(c), []string{"firing W1 0 rows"}) // the priority has risen
	bins = []bin{{wh: "W1", code: "A", qty: 1}, {wh: "W1", code: "B", qty: 1}}
	same(t, toldBy(runTrial(t, try, atEight.Add(20*time.Minute))), []string{"resolved W1 Resolved: 0 rows"})
}

func TestResultThatCannotBeJudged(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: 0}, {wh: "W1", code: "B", qty: 1}, {wh: "W1", code: "C", qty: 1}}
	var fault error
	r := resultRule()
	r.When = "any(rows, 1 / .qty < 0) or row_count == 0"
	try := binTrial(t, r, &bins, &fault)
	c := runTrial(t, try, atEight)
	if c.Run.Outcome != ledger.OutcomeDegraded || c.Run.Errored != 3 || c.Run.Matched != 0 || !strings.HasPrefix(c.Run.Samples[0], "result: ") {
		t.Errorf("%+v", c.Run)
	}
	bins[0].qty = -1
	same(t, toldBy(runTrial(t, try, atEight.Add(5*time.Minute))), []string{"firing W1 3 rows"})
	bins[0].qty = 0
	if c = runTrial(t, try, atEight.Add(10*time.Minute)); c.Run.Firing != 1 || c.Run.Errored != 3 {
		t.Errorf("%+v", c.Run)
	}
}

func TestResultWithoutDataKeepsWhatItFound(t *testing.T) {
	t.Parallel()
	bins := []bin{{wh: "W1", code: "A", qty: -1}}
	var fault error
	r := resultRule()
	r.NoData = rules.PolicyKeepLast
	try := binTrial(t, r, &bins, &fault)
	runTrial(t, try, atEight)
	bins = nil
	if c := runTrial(t, try, atEight.Add(5*time.Minute)); c.Run.Firing != 1 || len(c.Notices) != 0 {
		t.Errorf("%+v", c.Run)
	}
}
