package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tallyman/engine/enginetest"
	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// A node with other rule files may close the rules of this node as removed.
func TestForgottenRuleIsRegisteredAnew(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start(w.options("a"))
		w.set(stock("A-01", -3))
		pass(6 * m)
		w.ledger.Drop("negative-bin-stock", "119240")
		pass(10 * m)
		w.wantDues("5 ok", "15 ok")
		if got := w.told(); len(got) != 2 {
			t.Errorf("told %q: its findings were closed, so it tells them anew", got)
		}
	})
}

// hanging is a source that never answers.
type hanging struct{ *enginetest.Source }

func (hanging) Prepare(ctx context.Context, _ *probe.Statement) (scanners.PreparedProbe, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestStopDoesNotWaitForASourceThatHangs(t *testing.T) {
	inWorld(t, func(w *world) {
		o := w.options("a")
		o.Sources["wms"] = hanging{w.source}
		a := w.start(o)
		pass(10 * time.Second)
		began := time.Now()
		a.stop()
		if took := time.Since(began); took != 0 {
			t.Errorf("stopped after %v", took)
		}
	})
}

func TestSourcesThatHangLeaveRoomForOthers(t *testing.T) {
	inWorld(t, func(w *world) {
		o := w.options("a")
		hang := &enginetest.Source{Columns: stockColumns, Rows: func(ctx context.Context, _ scanners.Request) ([][]row.Value, error) {
			return nil, enginetest.Sleep(ctx, time.Hour)
		}}
		for _, source := range []string{"x", "y", "z"} {
			o.Sources[source] = hang
			for j := range 5 {
				r := negativeStock()
				r.ID, r.Source = "hangs-"+source, source
				r.Scope = string(rune('a' + j))
				r.Schedule.Cron = "4 * * * *"
				o.Rules = append(o.Rules, r)
			}
		}
		w.set(stock("A-01", -3))
		w.start(o)
		pass(5*m + time.Second)
		if got := w.told(); len(got) != 1 {
			t.Errorf("told %q", got)
		}
	})
}

// logged keeps the messages of errors.
type logged struct {
	slog.Handler
	messages *cell[[]string]
}

func logTo(messages *cell[[]string]) *slog.Logger {
	return slog.New(logged{slog.DiscardHandler, messages})
}

func (l logged) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

func (l logged) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l logged) Handle(_ context.Context, r slog.Record) error {
	l.messages.set(append(l.messages.get(), r.Message))
	return nil
}

func TestFiringsOfTheFutureAreTold(t *testing.T) {
	inWorld(t, func(w *world) {
		messages := &cell[[]string]{}
		o := w.options("a")
		o.Logger = logTo(messages)
		if _, err := w.ledger.Register(t.Context(), "negative-bin-stock", "119240", 0, time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := w.ledger.Skip(t.Context(), "negative-bin-stock", "119240", 0, midnight.Add(time.Hour), "b", ""); err != nil {
			t.Fatal(err)
		}
		n := w.start(o)
		pass(20 * m)
		if s := status(t, n); len(messages.get()) != 1 || !s.NextDue.Equal(midnight.Add(65*m)) {
			t.Errorf("logged %q, next %v", messages.get(), s.NextDue)
		}
		pass(60 * m)
		w.wantDues("60 skipped", "65 ok", "70 ok", "75 ok", "80 ok")
	})
}

// No value that a source may have stops the run or the commit.
func TestRowsOfAllSorts(t *testing.T) {
	inWorld(t, func(w *world) {
		w.start(w.options("a"))
		long := strings.Repeat("€", 100_000)
		w.set(stock("A\x00\x01\xff\ufffe", -1), stock(long, -1), stock("A-01", -1))
		pass(6 * m)
		run := w.ledger.Runs()[0]
		if run.Outcome != ledger.OutcomeDegraded || run.Errored != 1 || run.Firing != 2 || len(run.Samples) != 1 ||
			!strings.HasSuffix(run.Samples[0], "…: key: is longer than 4096 bytes") {
			t.Fatalf("%+v", run)
		}
		n := w.notices()[0]
		if n.Key != `["A\u0000\u0001\udcff`+"\ufffe"+`"]` || n.Title != "Bin A\x00\x01\ufffd\ufffe is at -1" || n.Data[0].Value != "A\x00\x01\ufffd\ufffe" {
			t.Errorf("%+v", n)
		}
	})
}

func TestErrorsThatNoLedgerTakes(t *testing.T) {
	inWorld(t, func(w *world) {
		w.source.Rows = func(context.Context, scanners.Request) ([][]row.Value, error) {
			return nil, errors.New("near \"\x00\xff" + strings.Repeat("x", 5000))
		}
		w.start(w.options("a"))
		pass(6 * m)
		if run := w.ledger.Runs()[0]; !strings.HasPrefix(run.Error, "near \"\ufffd\ufffdxx") || len(run.Error) > 2010 {
			t.Errorf("%d: %+q", len(run.Error), run.Error)
		}
	})
}

// TestARunKeepsSoMuch: rules of all kinds find rows that are small one by one, but too large together. That run fails,
// and the next one goes on.
func TestARunKeepsSoMuch(t *testing.T) {
	large, long := strings.Repeat("x", 1<<20), strings.Repeat("x", 64<<10)
	bins := func(code string, qty int64, label string) []row.Value {
		return []row.Value{row.TextOf("W1"), row.TextOf(code), row.IntOf(qty), row.TextOf(label)}
	}
	for name, c := range map[string]struct {
		edit func(r *rules.Rule)
		row  func(i int) []row.Value
		rows int // that are too many; two of them are not
	}{
		"state": {func(r *rules.Rule) {
			r.Notice.Body = map[string]string{"": "{{ .label }}"}
		}, func(i int) []row.Value { return bins(fmt.Sprint(i), -1, long) }, 1100},
		"state, keys that are too long": {func(*rules.Rule) {}, func(i int) []row.Value { return bins(fmt.Sprint(i)+large, -1, "") }, 200},
		"group":                         {func(r *rules.Rule) { grouped(r) }, func(i int) []row.Value { return bins(fmt.Sprint(i), -1, large) }, 200},
		"result": {func(r *rules.Rule) {
			r.Per, r.Key, r.When, r.Notice.Warehouse = rules.PerResult, nil, "row_count > 0", `"W1"`
			r.Notice.Fields = map[string]string{"bin": "rows[0].bin_code", "qty": "row_count"}
			r.Notice.Priority, r.Notice.Title, r.Notice.Body = "3", map[string]string{"": "{{ .row_count }} rows"}, nil
		}, func(i int) []row.Value { return bins(fmt.Sprint(i), 1, large) }, 200},
		"event": {func(r *rules.Rule) {
			r.Mode, r.Notice.SendResolved = rules.ModeEvent, false
			r.Notice.Body = map[string]string{"": "{{ .label }}"}
		}, func(i int) []row.Value { return bins(fmt.Sprint(i), -1, long) }, 1100},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				r := manyBins()
				c.edit(r)
				w.rules, w.source.Columns = []*rules.Rule{r}, binColumns
				fill := func(n int) {
					rows := make([][]row.Value, n)
					for i := range rows {
						rows[i] = c.row(i)
					}
					w.set(rows...)
				}
				fill(c.rows)
				w.start(w.options("a"))
				pass(6 * m)
				fill(2)
				pass(5 * m)
				runs := w.ledger.Runs()
				if len(runs) != 2 || !strings.HasPrefix(runs[0].Error, "too_many_bytes: the run would keep more than 128 MB") || runs[1].Outcome == ledger.OutcomeFailed {
					t.Errorf("%d runs: %.300q", len(runs), fmt.Sprintf("%+v", runs))
				}
			})
		})
	}
}
