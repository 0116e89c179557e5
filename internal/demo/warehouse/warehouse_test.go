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

// live simulates the minutes and returns the events.
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

// With any seed everything that the rules watch for happens within an hour, and bins are refilled.
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

// After LeaveRefills callers of Refill refill bins, once each. The simulator refills none for an hour.
func TestRefillsAreLeftToOthers(t *testing.T) {
	db := open(t)
	var told []string
	sim, err := warehouse.New(t.Context(), db, 7, start, func(e warehouse.Event) { told = append(told, e.Text) })
	if err != nil {
		t.Fatal(err)
	}
	sim.LeaveRefills()
	for i := range 45 {
		if err := sim.Step(t.Context(), start.Add(time.Duration(i+1)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if text := strings.Join(told, "\n"); strings.Contains(text, "refilled") || !strings.Contains(text, "drove bin") {
		t.Fatalf("somebody refilled, or no bin was short:\n%s", text)
	}
	var wh, bin string
	var before int
	if err := db.QueryRow(`SELECT wh_id, bin_code, qty FROM bin_stock WHERE qty < 0 LIMIT 1`).Scan(&wh, &bin, &before); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		filled, err := sim.Refill(t.Context(), start.Add(time.Hour), wh, bin, "forklift-1")
		if err != nil || filled != want {
			t.Fatalf("refill %s: %v, %v", bin, filled, err)
		}
	}
	var after int
	if err := db.QueryRow(`SELECT qty FROM bin_stock WHERE wh_id = ? AND bin_code = ?`, wh, bin).Scan(&after); err != nil || after < before+30 || after > before+59 {
		t.Fatalf("%s went from %d to %d (%v)", bin, before, after, err)
	}
	if last := told[len(told)-1]; !strings.HasPrefix(last, "forklift-1 refilled bin "+bin) {
		t.Errorf("told %q", last)
	}
	for _, nowhere := range [][2]string{{wh, "Z-99"}, {"1", bin}} {
		if filled, err := sim.Refill(t.Context(), start, nowhere[0], nowhere[1], "forklift-1"); filled || err != nil {
			t.Errorf("%v: %v, %v", nowhere, filled, err)
		}
	}
}
