package postgres_test

import (
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/scanners/postgres"
)

// TestClock reads the database's own time zone, which may differ from the source's.
func TestClock(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	for zone, offset := range map[string]int{"Asia/Shanghai": 8 * 3600, "UTC": 0, "<+0330>-03:30": 12600} {
		exec(t, address, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = %L', current_database(), '`+zone+`'); END $$`)
		for _, source := range []string{"+01:00", "UTC", "Europe/Berlin"} {
			got, err := open(t, postgres.Config{URL: address, Location: place(t, source)}).Clock(t.Context())
			if _, ahead := got.Zone(); err != nil || ahead != offset || got.Location().String() != zone || time.Since(got).Abs() > 10*time.Second {
				t.Errorf("%s, of a source in %s: %s in %q, %v", zone, source, got, got.Location(), err)
			}
		}
	}
}
