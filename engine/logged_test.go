package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"testing"
	"time"

	"tallyman/internal/ledger"
)

// The log lines of a run and of its deliveries have the same run id, and the lines of deliveries have the ids of the
// notices. So a reader who has one line finds the others.
func TestLogLinesNameRunAndNotice(t *testing.T) {
	inWorld(t, func(w *world) {
		var out bytes.Buffer
		w.set(stock("A-01", -3))
		o := w.options("a")
		o.Logger = slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		n := w.start(o)
		pass(6 * time.Minute)
		n.stop()
		told := w.inbox.Taken("119240")
		if len(told) != 1 {
			t.Fatalf("%d notices", len(told))
		}
		origin := told[0].Origin().String()
		lines := map[string]map[string]any{}
		for d := json.NewDecoder(&out); d.More(); {
			var l map[string]any
			if err := d.Decode(&l); err != nil {
				t.Fatal(err)
			}
			msg, _ := l["msg"].(string)
			lines[msg] = l
		}
		if got := lines["The run is done."]["run"]; got != origin {
			t.Errorf("the run is logged as %v, its notice came from %s", got, origin)
		}
		notices, _ := json.Marshal(lines["The sink took deliveries."]["notices"])
		if want := `{"count":1,"ids":["` + told[0].ID + `"],"runs":["` + origin + `"]}`; string(notices) != want {
			t.Errorf("the delivery is logged as %s, want %s", notices, want)
		}
	})
}

// logOf starts a node of so many scopes of the rule. It returns the node, and what takes the lines that the node has
// logged since the last time, as "LEVEL message count", with the level alone where a line has no count.
func (w *world) logOf(scopes int) (n node, lines func() []string) {
	w.rules = nil
	for i := range scopes {
		r := negativeStock()
		r.Scope = fmt.Sprint(i)
		w.rules = append(w.rules, r)
	}
	var out bytes.Buffer
	o := w.options("a")
	o.Logger = slog.New(slog.NewTextHandler(&out, nil))
	n = w.start(o)
	line := regexp.MustCompile(`level=(\w+) msg="([^"]*)"(?:.*(count=\d+))?`)
	return n, func() (list []string) {
		for _, m := range line.FindAllStringSubmatch(out.String(), -1) {
			list = append(list, fmt.Sprintf("%s %s %s", m[1], m[2], m[3]))
		}
		out.Reset()
		return list
	}
}

// A source that is down makes a line for its first failed run and one in a minute for the others, however many rules it
// has. There is one line when runs succeed again. The records and the observer have every run.
func TestASourceThatIsDownMakesAFewLines(t *testing.T) {
	inWorld(t, func(w *world) {
		const scopes = 300
		var fault cell[error]
		w.source.Rows = rowsOr(w, &fault)
		_, lines := w.logOf(scopes)
		want := func(when string, want ...string) {
			t.Helper()
			if got := lines(); !slices.Equal(got, want) {
				t.Errorf("%s: logged %q, want %q", when, got, want)
			}
		}
		pass(4 * m)
		want("at the start", fmt.Sprintf("INFO Rules were verified. count=%d", scopes))
		fault.set(errAway)
		pass(4 * m) // The firing of minute 5.
		want("the source is down",
			"WARN The run failed. The findings of rows stay as they were. ",
			"WARN Runs on the source failed. The findings of rows stay as they were. The line names the latest run. count=299")
		pass(5 * m) // 10. A minute may end while these runs are failing.
		failed, list := 0, lines()
		for _, line := range list {
			var some int
			if _, err := fmt.Sscanf(line, "WARN Runs on the source failed. The findings of rows stay as they were. The line names the latest run. count=%d", &some); err != nil {
				t.Errorf("it stays down: logged %q: %v", line, err)
			}
			failed += some
		}
		if failed != scopes || len(list) > 2 {
			t.Errorf("it stays down: logged %q", list)
		}
		fault.set(nil)
		pass(5 * m) // 15
		want("it is back", "INFO Runs on the source succeed again. ")
		pass(20 * m)
		want("all is well")
		if failed := count(w.outcomes(), ledger.OutcomeFailed); failed != 2*scopes {
			t.Errorf("%d runs are recorded as failed", failed)
		}
	})
}

// Many rules that run again, or that are removed, make one line.
func TestManyRulesMakeOneLine(t *testing.T) {
	inWorld(t, func(w *world) {
		n, lines := w.logOf(300)
		pass(6 * m)
		w.turn(n, nil, off)
		pass(20 * m)
		lines()
		w.turn(n, nil, on)
		pass(m)
		again := []string{"INFO Rules run again. Firings that were due while the rules were disabled are skipped. count=300", "INFO Rules were verified. count=300"}
		if got := slices.Sorted(slices.Values(lines())); !slices.Equal(got, again) {
			t.Errorf("logged %q, want %q", got, again)
		}
		w.without(n)
		if got, want := lines(), []string{"INFO The state of removed rules and scopes is closed. count=300"}; !slices.Equal(got, want) {
			t.Errorf("logged %q, want %q", got, want)
		}
	})
}

func count(list []ledger.Outcome, one ledger.Outcome) (n int) {
	for _, o := range list {
		if o == one {
			n++
		}
	}
	return n
}
