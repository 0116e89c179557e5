package postgres_test

import (
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/scanners/postgres"
)

// TestClock asks for the database's own time zone, whatever the source's is.
func TestClock(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	for zone, offset := range map[string]int{"Asia/Shanghai": 8 * 3600, "UTC": 0, "<+0330>-03:30": 12600} {
		exec(t, address, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = %L', current_database(), '`+zone+`'); END $$`)
		got, err := open(t, postgres.Config{URL: address, Location: place(t, "+01:00")}).Clock(t.Context())
		if _, ahead := got.Zone(); err != nil || ahead != offset || got.Location().String() != zone || time.Since(got).Abs() > 10*time.Second {
			t.Errorf("%s: %s in %q, %v", zone, got, got.Location(), err)
		}
	}
}
