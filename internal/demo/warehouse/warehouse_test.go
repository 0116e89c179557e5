package warehouse_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"tallyman/examples/wms"
	"tallyman/internal/demo/warehouse"
)

var start = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

func open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "wms.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(wms.Schema); err != nil {
		t.Fatal(err)
	}
	return db
}

// live runs the minutes and returns what was told.
func live(t *testing.T, db *sql.DB, seed uint64, minutes int) []warehouse.Event {
	t.Helper()
	var told []warehouse.Event
	sim, err := warehouse.New(t.Context(), db, seed, start, func(e warehouse.Event) { told = append(told, e) })
	if err != nil {
		t.Fatal(err)
	}
	for i := range minutes {
		if err := sim.Step(t.Context(), start.Add(time.Duration(i+1)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	return told
}

func TestSameSeedSameDay(t *testing.T) {
	first, second := live(t, open(t), 7, 120), live(t, open(t), 7, 120)
	if len(first) < 40 {
		t.Fatalf("only %d events in two hours", len(first))
	}
	for i := range first {
		if first[i] != second[i] {
			t.Fatalf("event %d: %v and %v", i, first[i], second[i])
		}
	}
	other := live(t, open(t), 8, 120)
	if len(other) == len(first) && other[0] == first[0] && other[len(other)-1] == first[len(first)-1] {
		t.Fatal("another seed lived the same day")
	}
}

// Within an hour, whatever the seed, everything that the rules watch for happens, and bins are refilled.
func TestAnHourShowsEveryFault(t *testing.T) {
	for seed := range uint64(5) {
		db := open(t)
		var text strings.Builder
		for _, e := range live(t, db, seed+1, 60) {
			text.WriteString(e.Text + "\n")
		}
		for _, want := range []string{"released", "drove bin", "refilled", "called away", "picked", "the book said"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("seed %d: nothing %q in an hour:\n%s", seed+1, want, text.String())
			}
		}
		now := start.Add(time.Hour).Format(time.DateTime)
		for what, query := range map[string]string{
			"order past its cut-off": `SELECT count(*) FROM orders WHERE cut_off < '` + now + `' AND (shipped_at IS NULL OR shipped_at > cut_off)`,
			"lot near expiry":        `SELECT count(*) FROM lots WHERE expires_on < '2026-06-08'`,
			"shipped order":          `SELECT count(*) FROM orders WHERE status = 'shipped'`,
		} {
			var n int
			if err := db.QueryRow(query).Scan(&n); err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				t.Errorf("seed %d: no %s in an hour", seed+1, what)
			}
		}
	}
}
