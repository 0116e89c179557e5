package scannertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// prompt is how soon a scan that is stopped has to be over; generous, for a busy machine.
const prompt = 10 * time.Second

func wantError(t testing.TB, what string, err error, code scanners.Code, transient bool) {
	t.Helper()
	var e *scanners.Error
	switch {
	case !errors.As(err, &e):
		t.Errorf("%s: want %s, got %v", what, code, err)
	case e.Code != code || scanners.IsTransient(err) != transient:
		t.Errorf("%s: want %s (transient %v), got %v (transient %v)", what, code, transient, err, e.Transient)
	}
}

// healthy tells that the source still scans.
func healthy(t testing.TB, s scanners.Source) {
	t.Helper()
	if got := One(t, s, "SELECT count(*) AS n FROM sample", nil); got != "3" {
		t.Errorf("the source does not scan as before: %s", got)
	}
}

func rowCap(t *testing.T, d Dialect) {
	t.Helper()
	_, s := sample(t, d)
	p := Prepare(t, s, fmt.Sprintf(d.Series, 5))
	for maxRows, want := range map[int]scanners.Result{
		0: {Rows: 5}, 1: {Rows: 1, More: true}, 4: {Rows: 4, More: true}, 5: {Rows: 5}, 6: {Rows: 5},
	} {
		visited := 0
		got, err := p.Scan(t.Context(), scanners.Request{MaxRows: maxRows}, func(*row.Row) error { visited++; return nil })
		if err != nil || got != want || visited != want.Rows {
			t.Errorf("max_rows %d: %+v, %d visited, %v", maxRows, got, visited, err)
		}
	}
	start := time.Now()
	endless := Prepare(t, s, fmt.Sprintf(d.Series, 2_000_000_000))
	got, err := endless.Scan(t.Context(), scanners.Request{MaxRows: 1000, Timeout: time.Minute}, ignore)
	if err != nil || got != (scanners.Result{Rows: 1000, More: true}) {
		t.Errorf("a cap far below the rows: %+v, %v", got, err)
	}
	if took := time.Since(start); took > prompt {
		t.Errorf("it took %s to stop after 1000 rows", took)
	}
	healthy(t, s)
}

func visitStops(t *testing.T, d Dialect) {
	t.Helper()
	_, s := sample(t, d)
	p := Prepare(t, s, fmt.Sprintf(d.Series, 2_000_000_000))
	enough := errors.New("enough")
	for range 5 {
		visited := 0
		got, err := p.Scan(t.Context(), scanners.Request{Timeout: time.Minute}, func(*row.Row) error {
			if visited++; visited == 10 {
				return enough
			}
			return nil
		})
		if err != enough || visited != 10 || got.Rows != 10 { //nolint:errorlint // unwrapped, as the contract says
			t.Fatalf("%d rows visited, %+v, %v", visited, got, err)
		}
	}
	healthy(t, s)
}

func timeout(t *testing.T, d Dialect) {
	t.Helper()
	_, s := sample(t, d)
	for _, sql := range []string{d.Endless, d.Trickle} {
		p := Prepare(t, s, sql)
		start := time.Now()
		_, err := p.Scan(t.Context(), scanners.Request{Timeout: 150 * time.Millisecond}, ignore)
		wantError(t, sql, err, scanners.CodeTimeout, true)
		if took := time.Since(start); took > prompt {
			t.Errorf("%s: it took %s to time out", sql, took)
		}
		healthy(t, s)
	}
}

func cancel(t *testing.T, d Dialect) {
	t.Helper()
	_, s := sample(t, d)
	for _, sql := range []string{d.Endless, d.Trickle} {
		p := Prepare(t, s, sql)
		for range 3 {
			ctx, stop := context.WithCancel(t.Context())
			timer := time.AfterFunc(100*time.Millisecond, stop)
			start := time.Now()
			_, err := p.Scan(ctx, scanners.Request{Timeout: time.Minute}, ignore)
			timer.Stop()
			stop()
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", sql, err)
			}
			if took := time.Since(start); took > prompt {
				t.Errorf("%s: it took %s to stop", sql, took)
			}
		}
		healthy(t, s)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	p := Prepare(t, s, "SELECT id FROM sample")
	if _, err := p.Scan(ctx, scanners.Request{}, ignore); !errors.Is(err, context.Canceled) {
		t.Errorf("a scan that begins after its context ended: %v", err)
	}
	healthy(t, s)
}
