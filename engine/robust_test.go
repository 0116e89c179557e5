package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tallyman/engine/enginetest"
	"tallyman/internal/ledger"
	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// A node of other rule files may take the rules of this one for removed.
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

// hanging is a source that answers nothing.
type hanging struct{ *enginetest.Source }

func (hanging) Prepare(ctx context.Context, _ *probe.Statement) (scanners.Prepared, error) {
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
		if _, err := w.ledger.Register(t.Context(), "negative-bin-stock", "119240", time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := w.ledger.Skip(t.Context(), "negative-bin-stock", "119240", midnight.Add(time.Hour), "b", ""); err != nil {
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

// What a source may hold must neither stop the run nor the commit.
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
		if n.Key != `["A\u0000\u0001`+"\ufffd\ufffe"+`"]` || n.Title != "Bin A\ufffd\ufffd\ufffd\ufffd is at -1" || n.Data[0].Value != "A\ufffd\ufffd\ufffd\ufffd" {
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
