package scannertest

import (
	"cmp"
	"fmt"
	"runtime"
	"testing"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// maxGrowth is how much more memory may be in use while the last rows of a long scan go by than while the first do.
const maxGrowth = 8 << 20

// stream reads a million rows, or as many as the dialect has, and watches the memory in use.
func stream(t *testing.T, d Dialect) {
	t.Helper()
	_, s := sample(t, d)
	rows := cmp.Or(d.Stream, 1_000_000)
	if testing.Short() {
		rows = 40_000
	}
	p := Prepare(t, s, fmt.Sprintf(d.Series, rows))
	early, late := uint64(0), uint64(0)
	seen := 0
	result, err := p.Scan(t.Context(), scanners.Request{Timeout: 2 * time.Minute}, func(r *row.Row) error {
		seen++
		if got := r.Values[0].Int(); got != int64(seen) {
			return fmt.Errorf("row %d says %d", seen, got)
		}
		switch seen {
		case rows / 20:
			early = inUse()
		case rows - 1:
			late = inUse()
		}
		return nil
	})
	if err != nil || result.Rows != rows {
		t.Fatalf("%+v, %v", result, err)
	}
	if late > early+maxGrowth {
		t.Errorf("memory in use grew from %d to %d KB", early>>10, late>>10)
	}
}

// inUse is what the program holds after a collection; other tests of the process count too, but hold little.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// reach takes the database away and brings it back: a source that is open recovers by itself, one that is opened
// meanwhile comes into reach.
func reach(t *testing.T, d Dialect) {
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
