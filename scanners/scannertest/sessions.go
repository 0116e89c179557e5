package scannertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// sessions returns the source as a scanners.Sessions. sessions skips the test if the dialect says that the driver opens
// no sessions.
func sessions(t T, d Dialect, s scanners.Source) scanners.Sessions {
	t.Helper()
	x, ok := s.(scanners.Sessions)
	if ok == d.NoSessions {
		t.Fatalf("the source opens sessions: %v", ok)
	}
	if !ok {
		t.Skip("the driver opens no sessions")
	}
	return x
}

// open opens a session, and fails the test if that is not possible. The session is closed at the end of the test, or
// earlier.
func open(t T, s scanners.Sessions, staged ...scanners.StagedTable) scanners.Session {
	t.Helper()
	x, err := s.Session(t.Context(), staged)
	if err != nil {
		t.Fatalf("open a session: %v", err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Errorf("close the session: %v", err)
		}
	})
	return x
}

// snapshot writes from outside a session. The session must not see the new row.
func snapshot(t T, d Dialect) {
	t.Helper()
	db, s := sample(t, d)
	x := open(t, sessions(t, d, s))
	const count = "SELECT count(*) AS n FROM sample"
	p := Prepare(t, x, count)
	db.Exec(t, "INSERT INTO sample (id) VALUES (4)")
	for range 2 {
		if rows := Rows(t, p, nil); rows[0].Values[0].Int() != 3 {
			t.Errorf("the session sees %s rows of 3", rows[0].Values[0])
		}
		if got := One(t, x, count, nil); got != "3" {
			t.Errorf("a statement prepared later sees %s rows of 3", got)
		}
	}
	if got := One(t, s, count, nil); got != "4" {
		t.Errorf("beside the session there are %s rows of 4", got)
	}
}

// sessionGuards runs writers and leaks in a session, with and without a staged table.
func sessionGuards(t T, d Dialect) {
	t.Helper()
	db, _ := sample(t, d)
	for _, setup := range []string{d.WriterSetup, d.LeakSetup} {
		if setup != "" {
			db.Exec(t, setup)
		}
	}
	s := db.Open(t, 1)
	before := One(t, s, d.State, nil)
	staged := scanners.StagedTable{Table: "sample", Columns: []row.Column{{Name: "id", Kind: row.Int}}, Rows: [][]row.Value{{row.IntOf(8)}, {row.IntOf(9)}}}
	for _, tables := range [][]scanners.StagedTable{nil, {staged}} {
		x := open(t, sessions(t, d, s), tables...)
		for _, sql := range d.Writers {
			p, err := x.Prepare(t.Context(), Parse(t, sql))
			if err == nil {
				_, err = p.Scan(t.Context(), scanners.Request{}, ignore)
			}
			wantError(t, sql, err, scanners.CodeReadOnly, false)
		}
		inside := One(t, x, d.State, nil)
		for _, sql := range d.Leaks {
			if _, err := Prepare(t, x, sql).Scan(t.Context(), scanners.Request{}, ignore); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
			if after := One(t, x, d.State, nil); after != inside {
				t.Errorf("%s: the session was %s and is %s", sql, inside, after)
			}
		}
		if want, got := fmt.Sprint(3-len(tables)), One(t, x, "SELECT count(*) AS n FROM sample", nil); got != want {
			t.Errorf("%s rows of %s in the session", got, want)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if after := One(t, s, d.State, nil); after != before {
			t.Errorf("the connection was %s and is %s", before, after)
		}
		healthy(t, s)
	}
}

// sessionGoesOn makes statements fail, stop and exceed their caps. The next statement must not be affected.
func sessionGoesOn(t T, d Dialect) {
	t.Helper()
	_, s := sample(t, d)
	x := open(t, sessions(t, d, s))
	enough := errors.New("enough")
	endless := Prepare(t, x, d.Endless)
	series := Prepare(t, x, d.Series(2_000_000_000))
	filtered := Prepare(t, x, "SELECT id FROM sample WHERE id = :x")
	for range 3 {
		_, err := x.Prepare(t.Context(), Parse(t, "SELECT nope FROM sample"))
		wantError(t, "a wrong statement", err, scanners.CodeStatement, false)
		_, err = filtered.Scan(t.Context(), scanners.Request{}, ignore)
		wantError(t, "no parameter", err, scanners.CodeParam, false)
		start := time.Now()
		_, err = endless.Scan(t.Context(), scanners.Request{Timeout: 100 * time.Millisecond}, ignore)
		wantError(t, "timeout", err, scanners.CodeTimeout, true)
		got, err := series.Scan(t.Context(), scanners.Request{MaxRows: 1000, Timeout: time.Minute}, ignore)
		if err != nil || got != (scanners.Result{Rows: 1000, More: true}) {
			t.Errorf("capped: %+v, %v", got, err)
		}
		_, err = series.Scan(t.Context(), scanners.Request{Timeout: time.Minute}, func(*row.Row) error { return enough })
		if err != enough { //nolint:errorlint // unwrapped, as the contract says
			t.Errorf("stopped: %v", err)
		}
		if took := time.Since(start); took > prompt {
			t.Errorf("it took %s to stop three statements", took)
		}
		if rows := Rows(t, filtered, map[string]any{"x": 2}); len(rows) != 1 || rows[0].Values[0].Int() != 2 {
			t.Errorf("%d rows", len(rows))
		}
	}
}

// sessionOver cancels a statement of a session, and closes the session twice. Then the session and its statement must
// fail, and the source must continue.
func sessionOver(t T, d Dialect) {
	t.Helper()
	db, _ := sample(t, d)
	s := db.Open(t, 1)
	x := open(t, sessions(t, d, s))
	p := Prepare(t, x, d.Trickle)
	ctx, stop := context.WithCancel(t.Context())
	timer := time.AfterFunc(100*time.Millisecond, stop)
	_, err := p.Scan(ctx, scanners.Request{Timeout: time.Minute}, ignore)
	timer.Stop()
	stop()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	for range 2 {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	healthy(t, s)
	if _, err := p.Scan(t.Context(), scanners.Request{}, ignore); err == nil {
		t.Error("a statement of a closed session was run")
	}
	if _, err := x.Prepare(t.Context(), Parse(t, "SELECT id FROM sample")); err == nil {
		t.Error("a closed session prepared a statement")
	}
}

func readOnly(t T, d Dialect) {
	t.Helper()
	db, _ := sample(t, d)
	if d.WriterSetup != "" {
		db.Exec(t, d.WriterSetup)
	}
	s := db.Open(t, 1)
	for _, sql := range d.Writers {
		p, err := s.Prepare(t.Context(), Parse(t, sql))
		if err == nil {
			_, err = p.Scan(t.Context(), scanners.Request{}, ignore)
		}
		wantError(t, sql, err, scanners.CodeReadOnly, false)
		healthy(t, s)
	}
}

// session runs each leak on the only connection, and then checks the session.
func session(t T, d Dialect) {
	t.Helper()
	db, _ := sample(t, d)
	if d.LeakSetup != "" {
		db.Exec(t, d.LeakSetup)
	}
	s := db.Open(t, 1)
	before := One(t, s, d.State, nil)
	for _, sql := range d.Leaks {
		p := Prepare(t, s, sql)
		if _, err := p.Scan(t.Context(), scanners.Request{}, ignore); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		if after := One(t, s, d.State, nil); after != before {
			t.Errorf("%s: the session was %s and is %s", sql, before, after)
		}
	}
}

// concurrent uses one PreparedProbe from more goroutines than there are connections.
func concurrent(t T, d Dialect) {
	t.Helper()
	s := d.New(t).Open(t, 2)
	p := Prepare(t, s, d.Series(400)+" -- :unused")
	filtered := Prepare(t, s, "SELECT count(*) AS n FROM ("+d.Series(3)+") s WHERE n <= :x")
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 10 {
				var sum int64
				result, err := p.Scan(t.Context(), scanners.Request{}, func(r *row.Row) error {
					sum += r.Values[0].Int()
					return nil
				})
				if err != nil || result.Rows != 400 || sum != 401*200 {
					t.Errorf("worker %d: %+v, sum %d, %v", worker, result, sum, err)
					return
				}
				id := int64(1 + (worker+i)%3)
				_, err = filtered.Scan(t.Context(), scanners.Request{Args: map[string]any{"x": id}}, func(r *row.Row) error {
					if got := r.Values[0].String(); got != fmt.Sprint(id) {
						return fmt.Errorf("asked for %d rows, got %s", id, got)
					}
					return nil
				})
				if err != nil {
					t.Errorf("worker %d: %v", worker, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
