package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/engine/enginetest"
	"tallyman/engine/judge"
	"tallyman/engine/why"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// why asks for a finding of the world's rule, with a look at the source.
func (w *world) why(t *testing.T, n node, key string) *why.Answer {
	t.Helper()
	y, err := n.Why(w.t.Context(), "negative-bin-stock", nil, key, true)
	if err != nil {
		w.t.Fatal(err)
	}
	return y
}

// heldBy are the codes of what holds a finding back.
func heldBy(y *why.Answer) string {
	var codes []string
	for _, h := range y.Reasons {
		codes = append(codes, h.Code)
	}
	return strings.Join(codes, " ")
}

func (w *world) isNext(t *testing.T, y *why.Answer, what string, after time.Duration) {
	t.Helper()
	due := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(after)
	if y.Next == nil || y.Next.What != what || !y.Next.Due.Equal(due) {
		t.Errorf("next: %+v, want %s at %s", y.Next, what, due)
	}
}

func TestWhyThroughALife(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.rules[0]
		r.For, r.KeepFiringFor, r.RepeatInterval = 10*m, 15*m, time.Hour
		r.When = `qty < 0 and bin_code != "X"`
		w.set(stock("A-01", -3))
		n := w.start(w.options("a"))

		pass(6 * m) // due at 5: pending
		y := w.why(t, n, "A-01")
		if y.Key != `["A-01"]` || y.Finding == nil || y.Finding.RowDue.Minute() != 5 || heldBy(y) != "for" {
			t.Errorf("pending: %+v, held %v", y.Finding, y.Reasons)
		}
		if f := y.Reasons[0].Facts; f.Asked != 10*time.Minute || f.Seen != 0 || y.Reasons[0].Code != "for" {
			t.Errorf("facts: %+v", f)
		}
		if want := "the row has been seen for 0s of the 10m that `for` asks: 10m more are needed"; y.Reasons[0].Text != want {
			t.Errorf("held: %s", y.Reasons[0].Text)
		}
		w.isNext(t, y, why.NextFires, 15*m)
		columns := judge.RowColumns(y.Finding.Row)
		if len(columns) != 2 || columns[1].Name != "qty" || *columns[1].Value != "-3" {
			t.Errorf("row: %+v", columns)
		}
		var parts []string
		for _, p := range y.Look.Parts {
			parts = append(parts, p.Text+" "+p.Outcome)
		}
		if got := strings.Join(parts, "; "); got != `qty < 0 and bin_code != "X" true; qty < 0 true; bin_code != "X" true` {
			t.Errorf("condition: %s", got)
		}

		pass(10 * m) // due at 15: firing
		y = w.why(t, n, `["A-01"]`)
		w.isNext(t, y, why.NextReminder, 75*m)
		if heldBy(y) != "repeat" || len(y.Notices) != 1 || y.Notices[0].Deliveries[0].State != ledger.DeliverySent {
			t.Errorf("firing: held %v, told %+v", y.Reasons, y.Notices)
		}

		w.set(stock("A-01", 4)) // there, but fine by now: the run of 20 will be the first without it
		y = w.why(t, n, "A-01")
		w.isNext(t, y, why.NextResolves, 35*m)
		if heldBy(y) != "no_match repeat" || y.Look.Match {
			t.Errorf("no longer wrong: %v", y.Reasons)
		}
		w.set()
		pass(5 * m) // due at 20: absent
		y = w.why(t, n, "A-01")
		w.isNext(t, y, why.NextResolves, 35*m)
		if heldBy(y) != "absent keep_firing_for repeat" ||
			y.Reasons[1].Text != "no run since 2000-01-01 00:15:00Z has seen the row: the row has been gone for 0s of the 15m that keep_firing_for asks" {
			t.Errorf("absent: %v", y.Reasons)
		}
		pass(16 * m) // resolved at 35
		y = w.why(t, n, "A-01")
		if y.Finding != nil || len(y.Notices) != 2 || y.Next != nil || heldBy(y) != "absent" || len(y.Alike) != 0 {
			t.Errorf("gone: %+v", y)
		}
	})
}

func TestWhyOfAPendingRowThatGoes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].For = 10 * m
		w.set(stock("A-01", -3))
		n := w.start(w.options("a"))
		pass(6 * m)
		w.set()
		w.isNext(t, w.why(t, n, "A-01"), why.NextDropped, 10*m)
	})
}

func TestWhyOfARowThatNoRunHasSeen(t *testing.T) {
	inWorld(t, func(w *world) {
		w.rules[0].For = 10 * m
		w.rules[0].Schedule.Jitter = 20 * time.Second
		n := w.start(w.options("a"))
		pass(6 * m)
		w.set(stock("A-01", -3))
		y := w.why(t, n, "A-01")
		w.isNext(t, y, why.NextFires, 20*m) // seen at 10, and for 10 minutes at 20
		if d := y.Next.At.Sub(y.Next.Due); d <= 0 || d >= 20*time.Second {
			t.Errorf("the jitter is %s", d)
		}
		w.set(stock("A-01", 3))
		if y := w.why(t, n, "A-01"); y.Next != nil || heldBy(y) != "no_match" || !y.Known() {
			t.Errorf("%+v", y)
		}
	})
}

// A finding of a group is told again for more reasons than its own.
func TestWhyNamesWhatTellsAGroupAgain(t *testing.T) {
	for priority, want := range map[string]string{
		"3": "the next notice is made only when another finding joins its group, or when its priority rises above 3",
		"5": "the next notice is made only when another finding joins its group: ",
	} {
		inWorld(t, func(w *world) {
			w.rules[0].GroupBy, w.rules[0].Notice.Priority = []string{"bin_code"}, priority
			w.rules[0].Notice.Title = map[string]string{"": "{{ .row_count }} bins"}
			w.set(stock("A-01", -3))
			n := w.start(w.options("a"))
			pass(6 * m)
			if held := w.why(t, n, "A-01").Reasons; !slices.ContainsFunc(held, func(h why.Reason) bool {
				return h.Code == "repeat" && strings.Contains(h.Text, want)
			}) {
				t.Errorf("nothing says %q: %+v", want, held)
			}
		})
	}
}

func TestWhyTheRuleTellsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world)
		held   string
	}{
		"disabled":     {func(w *world) { w.rules[0].Enabled = false }, "disabled"},
		"unsubscribed": {func(w *world) { w.ledger.Subscribers = nil }, "repeat unsubscribed"},
		"shadow":       {func(w *world) { w.rules[0].Shadow = true }, "shadow repeat"},
		"unverified": {func(w *world) {
			w.source.Break(&scanners.Error{Code: scanners.CodeUnreachable, Transient: true, Err: errors.New("no route")})
		}, "unverified"},
		"priority":   {func(w *world) { w.rules[0].Notice.Priority = "5" }, "repeat"},
		"failed":     {func(w *world) { w.rules[0].Probe.MaxRows = 1 }, "failed"},
		"errored":    {func(w *world) { w.rules[0].When = "10 / (qty + 3) > 1" }, "errored"},
		"too dear":   {func(w *world) { w.rules[0].Probe.MaxCost = 7 }, "unverified"},
		"after 20 m": {func(w *world) { w.rules[0].Schedule.Cron = "0 * * * *" }, "not_run"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.set(stock("A-01", -3), stock("A-02", -3))
				c.change(w)
				n := w.start(w.options("a"))
				pass(6 * m)
				y := w.why(t, n, "A-01")
				if got := heldBy(y); got != c.held {
					t.Errorf("held by %s, want %s: %+v", got, c.held, y.Reasons)
				}
				for _, h := range y.Reasons {
					if h.Text == "" {
						t.Errorf("%s says nothing", h.Code)
					}
				}
			})
		})
	}
}

func TestWhyWithoutTheSource(t *testing.T) {
	inWorld(t, func(w *world) {
		w.set(stock("A-01", -3))
		n := w.start(w.options("a"))
		pass(6 * m)
		w.source.Break(&scanners.Error{Code: scanners.CodeUnreachable, Transient: true, Err: errors.New("no route")})
		y := w.why(t, n, "A-01")
		if !strings.HasPrefix(y.Look.Failed, "source_unreachable") || y.Finding == nil || len(y.Notices) != 1 || heldBy(y) != "repeat" {
			t.Errorf("%+v, held %v", y.Look, y.Reasons)
		}
		prepares := w.source.Prepares()
		y, err := n.Why(w.t.Context(), "negative-bin-stock", nil, "A-01", false)
		if err != nil || y.Look != nil || w.source.Prepares() != prepares {
			t.Errorf("the source was asked: %+v, %v", y.Look, err)
		}
	})
}

// A source whose slots are taken by runs is not pressed further.
func TestWhyWaitsForTheSource(t *testing.T) {
	inWorld(t, func(w *world) {
		o := w.options("a")
		o.PerSource = map[string]int{"wms": 1}
		w.source.Rows = func(ctx context.Context, _ scanners.Request) ([][]row.Value, error) {
			return w.current(), enginetest.Sleep(ctx, m)
		}
		n := w.start(o)
		pass(5*m + 30*time.Second) // the run due at 5 holds the slot until 6
		if y := w.why(t, n, "A-01"); !strings.HasPrefix(y.Look.Failed, "source_busy") {
			t.Errorf("%+v", y.Look)
		}
	})
}

func TestWhyOfEvents(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.rules[0]
		r.Mode, r.NoData, r.Notice.SendResolved = rules.ModeEvent, "", false
		w.set(stock("A-01", -3))
		n := w.start(w.options("a"))
		pass(6 * m)
		y := w.why(t, n, "A-01")
		if len(y.Notices) != 1 || y.Finding != nil {
			t.Errorf("%+v", y)
		}
		w.isNext(t, y, why.NextEvent, 10*m)
	})
}

// TestWhyOfRowsThatAreReadAgain tells a row that an earlier run has seen from one that the next run will tell of.
func TestWhyOfRowsThatAreReadAgain(t *testing.T) {
	inNumberedWorld(t, func(w *world, n *numbers) {
		w.rules[0].ID = "negative-bin-stock"
		n.commit(11)
		node := w.start(w.options("a"))
		pass(m + 10*time.Second)
		n.commit(9)
		y := w.why(t, node, "11")
		if heldBy(y) != "seen" || y.Next != nil || len(y.Notices) != 1 {
			t.Errorf("a row that was seen: %v, next %+v", y.Reasons, y.Next)
		}
		y = w.why(t, node, "9")
		if heldBy(y) != "" {
			t.Errorf("a row that commits late: %v", y.Reasons)
		}
		w.isNext(t, y, why.NextEvent, 2*m)
	})
}

func TestWhyOfAResult(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.rules[0]
		r.Per, r.Key, r.When, r.Notice.Priority, r.Notice.Fields = rules.PerResult, nil, "row_count > 2", "3", map[string]string{"bin": `"all"`}
		r.Notice.Title, r.Notice.Body = map[string]string{"": "{{ .row_count }} rows"}, nil
		w.set(stock("A-01", -3))
		n := w.start(w.options("a"))
		pass(6 * m)
		if y := w.why(t, n, "[]"); heldBy(y) != "no_match" || y.Look.Rows != 1 || y.Next != nil {
			t.Errorf("%+v, held %v", y.Look, y.Reasons)
		}
		w.set(stock("A-01", -3), stock("A-02", -3), stock("A-03", -3))
		w.isNext(t, w.why(t, n, "[]"), why.NextFires, 10*m)
	})
}
