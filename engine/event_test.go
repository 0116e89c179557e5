package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

var needColumns = []row.Column{
	{Name: "id", Kind: row.Int}, {Name: "bin_code", Kind: row.Text}, {Name: "shortage", Kind: row.Int}, {Name: "changed_at", Kind: row.Time},
}

// need is a row of replenishment_need.
type need struct {
	id       int64
	bin      string
	shortage int64
	changed  time.Time
}

func (n need) values() []row.Value {
	return []row.Value{row.IntOf(n.id), row.TextOf(n.bin), row.IntOf(n.shortage), row.TimeOf(n.changed)}
}

// replenish is a rule of mode event with a watermark.
func replenish() *rules.Rule {
	r := negativeStock()
	r.ID, r.Mode, r.Key, r.When = "replenish-pick-face", rules.ModeEvent, []string{"id"}, "shortage > 0"
	r.Schedule.Cron = "*/2 * * * *"
	r.Probe.SQL = `SELECT id, bin_code, shortage, changed_at FROM replenishment_need
		WHERE changed_at <= :until AND (changed_at, id) > (:wm_changed_at, :wm_id) ORDER BY changed_at, id`
	r.Probe.Watermark = &rules.Watermark{
		Columns: []string{"changed_at", "id"}, Initial: map[string]any{"changed_at": "-1h", "id": int64(0)}, Lag: 30 * time.Second,
	}
	r.Notice.SendResolved, r.Notice.Priority = false, "3"
	r.Notice.Title, r.Notice.Body = map[string]string{"": "Replenish {{ .bin_code }}: {{ .shortage }}"}, nil
	r.Notice.Fields = map[string]string{"bin": "bin_code", "qty": "shortage"}
	return r
}

// mostScans is more scans than any test of needs has. Without a bound, a firing that reads the same page in each pass
// would hold the clock of the bubble for ever.
const mostScans = 100

// needs answers the probe of replenish as a database would.
type needs struct {
	mu    sync.Mutex
	table []need
	scans []scanners.Request
}

// change changes the table.
func (n *needs) change(edit func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	edit()
}

func (n *needs) scan(_ context.Context, req scanners.Request) ([][]row.Value, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.scans = append(n.scans, req); len(n.scans) > mostScans {
		return nil, errors.New("the passes of a firing do not come to an end")
	}
	at, _ := req.Args["wm_changed_at"].(row.Value)
	id, _ := req.Args["wm_id"].(row.Value)
	until, _ := req.Args["until"].(time.Time)
	var rows [][]row.Value
	for _, r := range n.table {
		above := r.changed.After(at.Time()) || r.changed.Equal(at.Time()) && r.id > id.Int()
		if above && !r.changed.After(until) {
			rows = append(rows, r.values())
		}
	}
	slices.SortFunc(rows, func(a, b []row.Value) int {
		if c := a[3].Time().Compare(b[3].Time()); c != 0 {
			return c
		}
		return int(a[0].Int() - b[0].Int())
	})
	return rows, nil
}

func inEventWorld(t *testing.T, test func(w *world, n *needs)) {
	t.Helper()
	inWorld(t, func(w *world) {
		n := &needs{}
		w.rules = []*rules.Rule{replenish()}
		w.source.Columns, w.source.Rows = needColumns, n.scan
		test(w, n)
	})
}

var midnight = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func TestEventsAreToldOnce(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		n.table = []need{
			{1, "A-01", 5, midnight.Add(-2 * time.Hour)}, // before the rule's beginning
			{2, "A-02", 5, midnight.Add(-time.Minute)},
			{3, "A-03", 0, midnight.Add(-time.Minute)}, // does not match, but moves the watermark
			{4, "A-04", 7, midnight.Add(100 * time.Second)},
		}
		w.start(w.options("a"))
		pass(3 * m) // due 2: until is 1:30
		if got := w.told(); !slices.Equal(got, []string{"event Replenish A-02: 5"}) {
			t.Errorf("told %q", got)
		}
		pass(4 * m)
		got := w.notices()
		if len(got) != 2 || got[1].Title != "Replenish A-04: 7" || got[1].Episode != `["2000-01-01T00:01:40Z",4]` || got[1].Key != "[4]" {
			t.Fatalf("told %+v", got)
		}
		n.change(func() { n.table[0].changed = midnight.Add(6 * m) }) // the row of before the beginning: an event now
		pass(2 * m)
		if got := w.told(); len(got) != 3 {
			t.Errorf("told %q", got)
		}
		first := n.scans[0].Args
		if until := first["until"]; until != midnight.Add(90*time.Second) {
			t.Errorf("until %v", until)
		}
		if at, _ := first["wm_changed_at"].(row.Value); !at.Time().Equal(midnight.Add(2*m - time.Hour)) {
			t.Errorf("the first watermark is %v", at)
		}
		if len(first) != 3 {
			t.Errorf("arguments that the probe does not name: %v", first)
		}
	})
}

func TestEventsBeyondMaxRowsFollowAtOnce(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		w.rules[0].Probe.MaxRows = 10
		for i := range 35 {
			n.table = append(n.table, need{int64(i), fmt.Sprintf("A-%02d", i), 1, midnight})
		}
		w.start(w.options("a"))
		pass(3 * m)
		if got := w.told(); len(got) != 35 || got[34] != "event Replenish A-34: 1" || len(n.scans) != 4 {
			t.Errorf("%d told in %d scans", len(got), len(n.scans))
		}
		w.wantDues("2 ok")
	})
}

// TestAnotherNodeGoesOnBehindTheWatermark loses a node between two passes of one firing.
func TestAnotherNodeGoesOnBehindTheWatermark(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		w.rules[0].Probe.MaxRows = 10
		for i := range 35 {
			n.table = append(n.table, need{int64(i), fmt.Sprintf("A-%02d", i), 1, midnight})
		}
		w.source.Rows = func(ctx context.Context, req scanners.Request) ([][]row.Value, error) {
			rows, err := n.scan(ctx, req)
			if len(n.scans) == 3 {
				w.ledger.Steal("replenish-pick-face", "119240", "dead", 10*time.Second)
			}
			return rows, err
		}
		w.start(w.options("a"))
		pass(2*m + 30*time.Second)
		if got := w.told(); len(got) != 35 {
			t.Errorf("%d told: %q", len(got), got)
		}
		if len(n.scans) != 5 { // two committed, one lost, two more
			t.Errorf("%d scans", len(n.scans))
		}
	})
}

func TestEventFaults(t *testing.T) {
	at := func(s int) time.Time { return midnight.Add(time.Duration(s) * time.Second) }
	cases := []struct {
		name string
		edit func(r *rules.Rule)
		rows []need
		want string
	}{
		{"not in the order of the watermark", nil, []need{{1, "A", 1, at(2)}, {2, "B", 1, at(1)}, {3, "C", 1, at(3)}}, "watermark_order: "},
		{"not above the watermark", nil, []need{{1, "A", 1, at(-4000)}, {1, "B", 1, at(-4000)}, {1, "C", 1, at(-4000)}}, "watermark_order: "},
		{"the very watermark", nil, []need{{0, "A", 1, at(120 - 3600)}, {0, "B", 1, at(120 - 3600)}, {0, "C", 1, at(120 - 3600)}}, "watermark_stuck: "},
		{"no watermark to go on from", func(r *rules.Rule) {
			r.Probe.Watermark, r.Probe.SQL = nil, "SELECT * FROM replenishment_need"
		}, []need{{1, "A", 1, at(1)}, {2, "B", 1, at(2)}, {3, "C", 1, at(3)}}, "too_many_rows: "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			inEventWorld(t, func(w *world, _ *needs) {
				w.rules[0].Probe.MaxRows = 2
				if c.edit != nil {
					c.edit(w.rules[0])
				}
				w.source.Rows = func(context.Context, scanners.Request) ([][]row.Value, error) {
					var rows [][]row.Value
					for _, n := range c.rows {
						rows = append(rows, n.values())
					}
					return rows, nil
				}
				w.start(w.options("a"))
				pass(3 * m)
				runs := w.ledger.Runs()
				if len(runs) != 1 || runs[0].Outcome != ledger.OutcomeFailed || !strings.HasPrefix(runs[0].Error, c.want) || len(w.told()) != 0 {
					t.Errorf("%+v", runs)
				}
			})
		})
	}
}

func TestEventsWithoutWatermark(t *testing.T) {
	inEventWorld(t, func(w *world, _ *needs) {
		w.rules[0].Probe.Watermark, w.rules[0].Probe.SQL = nil, "SELECT * FROM replenishment_need"
		w.source.Rows = func(context.Context, scanners.Request) ([][]row.Value, error) {
			return [][]row.Value{need{1, "A", 1, midnight}.values(), need{1, "B", 1, midnight}.values()}, nil
		}
		w.start(w.options("a"))
		pass(5 * m)
		got := w.notices()
		if len(got) != 2 || got[0].Episode != "946684920000000" || got[0].ID == got[1].ID {
			t.Errorf("each run tells the first of the rows with one key: %+v", got)
		}
		if run := w.ledger.Runs()[0]; run.Outcome != ledger.OutcomeDegraded {
			t.Errorf("%+v", run)
		}
	})
}

func TestFailedEventRunKeepsTheWatermark(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		n.table = []need{{1, "A-01", 5, midnight}}
		scans := 0
		w.source.Rows = func(ctx context.Context, req scanners.Request) ([][]row.Value, error) {
			if scans++; scans == 1 {
				panic("first scan")
			}
			return n.scan(ctx, req)
		}
		w.start(w.options("a"))
		pass(5 * m)
		w.wantDues("2 failed", "4 ok")
		if len(w.told()) != 1 {
			t.Errorf("told %q", w.told())
		}
	})
}

func TestBuiltInArguments(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].Probe.SQL = "SELECT bin_code, qty FROM bin_stock WHERE wh = :wh AND :scope <> '' AND t > :last_run_at AND :now > :scheduled_at"
		w.rules[0].Probe.Params = map[string]any{"wh": int64(7)}
		var scans []scanners.Request
		var fail cell[error]
		w.source.Rows = func(_ context.Context, req scanners.Request) ([][]row.Value, error) {
			scans = append(scans, req)
			return nil, fail.get()
		}
		w.start(w.options("a"))
		pass(6 * m)
		fail.set(&scanners.Error{Code: scanners.CodeTimeout, Transient: true, Err: context.DeadlineExceeded})
		pass(5 * m)
		fail.set(nil)
		pass(5 * m)
		for i, lastRun := range []time.Time{midnight, midnight.Add(5 * m), midnight.Add(5 * m)} {
			due := midnight.Add(time.Duration(i+1) * 5 * m)
			a := scans[i].Args
			if a["wh"] != int64(7) || a["scope"] != "119240" || a["scheduled_at"] != due || a["now"] != due || len(a) != 5 {
				t.Errorf("scan %d: %v", i, a)
			}
			if at, _ := a["last_run_at"].(time.Time); !at.Equal(lastRun) {
				t.Errorf("scan %d: last run at %v, want %v", i, at, lastRun)
			}
		}
		if scans[0].Timeout != 5*time.Second || scans[0].MaxRows != 10000 {
			t.Errorf("%+v", scans[0])
		}
	})
}

// byTimeAlone gives the rule a watermark that several rows may share.
func byTimeAlone(w *world, n *needs, maxRows int) {
	r := w.rules[0]
	r.Probe.Watermark.Columns, r.Probe.Watermark.Initial = []string{"changed_at"}, map[string]any{"changed_at": "-1h"}
	r.Probe.MaxRows = maxRows
	w.source.Rows = func(ctx context.Context, req scanners.Request) ([][]row.Value, error) {
		req.Args["wm_id"] = row.IntOf(1 << 40) // changed_at > :wm_changed_at
		return n.scan(ctx, req)
	}
}

// max_rows may cut between rows with the same watermark. The rows after the cut must not be lost.
func TestRowsOfOneWatermarkStayTogether(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		byTimeAlone(w, n, 10)
		var want []string
		for i := range 30 { // seven rows a second
			n.table = append(n.table, need{int64(i), fmt.Sprintf("A-%02d", i), 1, midnight.Add(time.Duration(i/7) * time.Second)})
			want = append(want, fmt.Sprintf("event Replenish A-%02d: 1", i))
		}
		w.start(w.options("a"))
		pass(3 * m)
		if got := w.told(); !slices.Equal(got, want) {
			t.Errorf("told %q", got)
		}
		if run := w.ledger.Runs()[0]; run.Outcome != ledger.OutcomeOK || run.Notices != 30 || run.Rows != 10+10+10+9 {
			t.Errorf("the last pass reads what is left: %+v", run)
		}
	})
}

func TestMoreRowsOfOneWatermarkThanMaxRows(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		byTimeAlone(w, n, 10)
		for i := range 11 {
			n.table = append(n.table, need{int64(i), "A", 1, midnight})
		}
		w.start(w.options("a"))
		pass(3 * m)
		if run := w.ledger.Runs()[0]; run.Outcome != ledger.OutcomeFailed || len(w.told()) != 0 ||
			run.Error != "watermark_tied: more than 10 rows have the same watermark: raise probe.max_rows, or add a column to the watermark that tells them apart" {
			t.Errorf("%+v", run)
		}
	})
}

// "-1h" counts back from the first run, even if that run fails. So the rows of that hour are not lost.
func TestFailedFirstRunKeepsTheBeginning(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		n.table = []need{{1, "A-01", 5, midnight.Add(3*m - time.Hour)}}
		var fault cell[error]
		w.source.Rows = func(ctx context.Context, req scanners.Request) ([][]row.Value, error) {
			if err := fault.get(); err != nil {
				return nil, err
			}
			return n.scan(ctx, req)
		}
		fault.set(&scanners.Error{Code: scanners.CodeStatement, Err: errors.New("no such function")})
		w.start(w.options("a"))
		pass(5 * m) // due 2 and 4 fail
		fault.set(nil)
		pass(2 * m)
		w.wantDues("2 failed", "4 failed", "6 ok")
		if got := w.told(); len(got) != 1 {
			t.Errorf("told %q", got)
		}
	})
}

// A rule changes from mode state to mode event. Its old findings are closed, because no run would resolve them.
func TestFindingsOfAnotherModeAreClosed(t *testing.T) {
	inEventWorld(t, func(w *world, n *needs) {
		state := negativeStock()
		state.ID = w.rules[0].ID
		event := w.rules
		w.rules = []*rules.Rule{state}
		w.source.Columns = stockColumns
		w.source.Rows = func(context.Context, scanners.Request) ([][]row.Value, error) { return w.current(), nil }
		w.set(stock("A-01", -3))
		a := w.start(w.options("a"))
		pass(6 * m)
		a.stop()

		w.rules, w.source.Columns, w.source.Rows = event, needColumns, n.scan
		w.start(w.options("a"))
		pass(4 * m)
		if left, err := w.ledger.Findings(t.Context(), state.ID, state.Scope); err != nil || len(left) != 0 {
			t.Errorf("left %v, %v", left, err)
		}
		if run := w.ledger.Runs()[1]; run.Outcome != ledger.OutcomeOK || run.Firing != 0 || len(w.told()) != 1 {
			t.Errorf("%+v, told %q", run, w.told())
		}
	})
}
