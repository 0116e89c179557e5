package scannertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// prompt is how soon a stopped scan must end. prompt is generous, for a busy machine.
const prompt = 10 * time.Second

func wantError(t T, what string, err error, code scanners.Code, transient bool) {
	t.Helper()
	var e *scanners.Error
	switch {
	case !errors.As(err, &e):
		t.Errorf("%s: want %s, got %v", what, code, err)
	case e.Code != code || scanners.IsTransient(err) != transient:
		t.Errorf("%s: want %s (transient %v), got %v (transient %v)", what, code, transient, err, e.Transient)
	}
}

// healthy checks that the source still scans.
func healthy(t T, s scanners.Source) {
	t.Helper()
	if got := One(t, s, "SELECT count(*) AS n FROM sample", nil); got != "3" {
		t.Errorf("the source does not scan as before: %s", got)
	}
}

func rowCap(t T, d Dialect) {
	t.Helper()
	s := d.New(t).Open(t, 2)
	p := Prepare(t, s, d.Series(5))
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
	endless := Prepare(t, s, d.Series(2_000_000_000))
	got, err := endless.Scan(t.Context(), scanners.Request{MaxRows: 1000, Timeout: time.Minute}, ignore)
	if err != nil || got != (scanners.Result{Rows: 1000, More: true}) {
		t.Errorf("a cap far below the rows: %+v, %v", got, err)
	}
	if took := time.Since(start); took > prompt {
		t.Errorf("it took %s to stop after 1000 rows", took)
	}
	answers(t, d, s)
}

func visitStops(t T, d Dialect) {
	t.Helper()
	s := d.New(t).Open(t, 2)
	p := Prepare(t, s, d.Series(2_000_000_000))
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
	answers(t, d, s)
}

func timeout(t T, d Dialect) {
	t.Helper()
	s := d.New(t).Open(t, 2)
	for _, sql := range []string{d.Endless, d.Trickle} {
		p := Prepare(t, s, sql)
		start := time.Now()
		_, err := p.Scan(t.Context(), scanners.Request{Timeout: 150 * time.Millisecond}, ignore)
		wantError(t, sql, err, scanners.CodeTimeout, true)
		if took := time.Since(start); took > prompt {
			t.Errorf("%s: it took %s to time out", sql, took)
		}
		answers(t, d, s)
	}
}

func cancel(t T, d Dialect) {
	t.Helper()
	s := d.New(t).Open(t, 2)
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
		answers(t, d, s)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	p := Prepare(t, s, d.Series(1))
	if _, err := p.Scan(ctx, scanners.Request{}, ignore); !errors.Is(err, context.Canceled) {
		t.Errorf("a scan that begins after its context ended: %v", err)
	}
	answers(t, d, s)
}

// most are the default limits of a source.
var most = scanners.Limits{}.WithDefaults()

// texts returns a SELECT of an id, and of texts with these sizes in bytes, in the columns t1, t2 ….
func texts(d Dialect, sizes ...int) string {
	var sql strings.Builder
	sql.WriteString("SELECT 7 AS id")
	for i, size := range sizes {
		fmt.Fprintf(&sql, ", "+d.Repeat, size)
		fmt.Fprintf(&sql, " AS t%d", i+1)
	}
	return sql.String() + d.From
}

// tooLarge runs a scan that is too large. The scan must fail with an error that contains says.
func tooLarge(t T, s Preparer, sql, says string) {
	t.Helper()
	p := Prepare(t, s, sql)
	_, err := p.Scan(t.Context(), scanners.Request{Timeout: time.Minute}, ignore)
	wantError(t, sql, err, scanners.CodeTooLarge, false)
	if err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("%s: %v, want %q in it", sql, err, says)
	}
}

// limits scans values and rows at small limits, and above.
func limits(t T, d Dialect) {
	t.Helper()
	s := d.New(t).Limited(t, scanners.Limits{Cell: 2000, Row: 5000})
	Rows(t, Prepare(t, s, texts(d, 2000, 2000, 900)), nil)
	tooLarge(t, s, texts(d, 2000, 2001), "column t2 holds 2001 bytes, more than the 2000 that")
	tooLarge(t, s, texts(d, 2000, 2000, 1001), "bytes, more than the 5000 that the source takes")
	answers(t, d, s)
}

// largeLimits scans values and rows at the default limits, and above.
func largeLimits(t T, d Dialect) {
	t.Helper()
	db, _ := sample(t, d)
	if d.LargeSetup != "" {
		db.Exec(t, d.LargeSetup)
	}
	s := db.Open(t, 1)
	quarter := most.Row / 4
	// The second row is 10 bytes below the limit, because some databases count the bytes of the number id, too.
	for _, sizes := range [][]int{{most.Cell}, {quarter, quarter, quarter, quarter - 10}, {0, most.Cell, most.Cell, most.Cell, 1000}} {
		rows := Rows(t, Prepare(t, s, texts(d, sizes...)), nil)
		for i, size := range sizes {
			if got := rows[0].Values[i+1]; got.Kind() != row.Text || len(got.Text()) != size {
				t.Errorf("text %d has %d bytes of %d", i+1, len(got.Text()), size)
			}
		}
	}
	cell, lines := strconv.Itoa(most.Cell), strconv.Itoa(most.Row)
	tooLarge(t, s, texts(d, 10, most.Cell+1, 10), "column t2 holds "+strconv.Itoa(most.Cell+1)+" bytes, more than the "+cell+" that")
	healthy(t, s)
	tooLarge(t, s, texts(d, quarter, quarter, quarter, quarter, 1), "bytes, more than the "+lines+" that the source takes")
	healthy(t, s)
	what := "column t1 holds "
	if d.Untold {
		what = " holds "
	}
	for _, size := range []int{most.Row + 100_000, 5 * most.Row} {
		tooLarge(t, s, texts(d, size), what)
		healthy(t, s)
	}
	large := db.Limited(t, scanners.Limits{Cell: 3 * most.Row, Row: 4 * most.Row})
	if rows := Rows(t, Prepare(t, large, texts(d, 3*most.Row, most.Row-10)), nil); len(rows[0].Values[1].Text()) != 3*most.Row {
		t.Error("a large text was cut")
	}
	tooLarge(t, large, texts(d, 1, 3*most.Row+1), "column t2 holds ")
	healthy(t, large)
}

// sessionLimits exceeds the limits in a session. The session continues if the rest of the row could be skipped, and is
// over otherwise. The source continues.
func sessionLimits(t T, d Dialect) {
	t.Helper()
	db, _ := sample(t, d)
	if d.LargeSetup != "" {
		db.Exec(t, d.LargeSetup)
	}
	s := db.Open(t, 1)
	x := open(t, sessions(t, d, s))
	tooLarge(t, x, texts(d, most.Cell+1), "column t1 holds ")
	if got := One(t, x, "SELECT count(*) AS n FROM sample", nil); got != "3" {
		t.Errorf("the session sees %s rows", got)
	}
	tooLarge(t, x, texts(d, 5*most.Row), " holds ")
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	healthy(t, s)
}

// mostGrowth is how much the process may grow because of a value that is too large.
const mostGrowth = 32 << 20

// Memory measures how much the process grows while it scans values that are too large. Memory is not part of Run,
// because nothing else may run at the same time: the test that calls it must not be parallel.
func Memory(t T, d Dialect) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells how large a process was at most")
	}
	db, s := sample(t, d)
	if d.LargeSetup != "" {
		db.Exec(t, d.LargeSetup)
	}
	const huge = 100_000_000
	many := make([]int, 100)
	for i := range many {
		many[i] = most.Cell
	}
	for what, sql := range map[string]string{
		"a value": texts(d, huge), "a value among others": texts(d, 10, most.Cell, huge, 10), "a row of many values": texts(d, many...),
	} {
		if got := grows(t, func() { tooLarge(t, s, sql, " holds ") }); got > mostGrowth {
			t.Errorf("%s of %d MB makes the process grow by %d MB", what, huge/1_000_000, got>>20)
		}
		healthy(t, s)
	}
	// Check the measurement itself: without the limit the same value must show.
	endless := db.Limited(t, scanners.Limits{Cell: 1 << 30, Row: 1 << 30})
	unlimited := Prepare(t, endless, texts(d, huge))
	if got := grows(t, func() { Rows(t, unlimited, nil) }); got < huge {
		t.Errorf("without a limit %d MB make the process grow by %d MB", huge/1_000_000, got>>20)
	}
}

// grows runs f, and returns how many bytes the process had grown at most.
func grows(t T, f func()) int {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // resets the high-water mark
		t.Fatal(err)
	}
	before := status(t, "VmRSS:")
	f()
	return status(t, "VmHWM:") - before
}

// status returns a figure of the process in bytes.
func status(t T, name string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == name {
			kb, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatalf("the system does not tell %s", name)
	return 0
}

// maxGrowth is how much more memory may be in use near the end of a long scan than near its beginning.
const maxGrowth = 8 << 20

// stream reads a million rows, or as many as the dialect says, and checks the memory in use.
func stream(t T, d Dialect) {
	t.Helper()
	s := d.New(t).Open(t, 1)
	rows := cmp.Or(d.Stream, 1_000_000)
	p := Prepare(t, s, d.Series(rows))
	early, late := uint64(0), uint64(0)
	seen, sum := 0, int64(0)
	result, err := p.Scan(t.Context(), scanners.Request{Timeout: 2 * time.Minute}, func(r *row.Row) error {
		seen++
		sum += r.Values[0].Int() // in any order
		switch seen {
		case rows / 20:
			early = inUse()
		case rows - 1:
			late = inUse()
		}
		return nil
	})
	if want := int64(rows) * int64(rows+1) / 2; err != nil || result.Rows != rows || sum != want {
		t.Fatalf("%+v, %v; the numbers of the rows add up to %d of %d", result, err, sum, want)
	}
	if late > early+maxGrowth {
		t.Errorf("memory in use grew from %d to %d KB", early>>10, late>>10)
	}
}

// inUse returns the bytes in use after a garbage collection. Other tests of the process count, too, but use little.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// reach makes the database unavailable and restores it. An open source must recover by itself. A source that was opened
// in between must become available.
func reach(t T, d Dialect) {
	t.Helper()
	db, s := sample(t, d)
	p := Prepare(t, s, "SELECT id FROM sample ORDER BY id")
	healthy(t, s)
	db.Cut(t)
	late := db.Open(t, 1)
	for name, source := range map[string]scanners.Source{"opened before": s, "opened while away": late} {
		wantError(t, name+": ping", source.Ping(t.Context()), scanners.CodeUnreachable, true)
		_, err := source.Prepare(t.Context(), Parse(t, "SELECT id FROM sample"))
		wantError(t, name+": prepare", err, scanners.CodeUnreachable, true)
	}
	_, err := p.Scan(t.Context(), scanners.Request{}, ignore)
	wantError(t, "scan", err, scanners.CodeUnreachable, true)

	db.Restore(t)
	for name, source := range map[string]scanners.Source{"opened before": s, "opened while away": late} {
		if err := source.Ping(t.Context()); err != nil {
			t.Errorf("%s: ping: %v", name, err)
		}
		healthy(t, source)
	}
	if rows := Rows(t, p, nil); len(rows) != 3 {
		t.Errorf("%d rows of a statement that was prepared before", len(rows))
	}
}
