package sqlite_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/scannertest"
	"tallyman/scanners/sqlite"
)

// TestTimeForms stores the same times in every form that programs use. It finds them by a parameter: before, at and
// after a time, and page by page.
func TestTimeForms(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	steps := []time.Duration{0, 250 * time.Millisecond, time.Second, 1500 * time.Millisecond, time.Minute, 24 * time.Hour}
	for name, store := range map[string]func(time.Time) any{
		"datetime()":            func(t time.Time) any { return t.Format("'2006-01-02 15:04:05'") },
		"datetime(subsec)":      func(t time.Time) any { return t.Format("'2006-01-02 15:04:05.000'") },
		"fraction where needed": func(t time.Time) any { return t.Format("'2006-01-02 15:04:05.999999'") },
		"iso":                   func(t time.Time) any { return t.Format("'2006-01-02T15:04:05'") },
		"iso, Z":                func(t time.Time) any { return t.Format("'2006-01-02T15:04:05Z'") },
		"iso, ms, Z":            func(t time.Time) any { return t.Format("'2006-01-02T15:04:05.000Z'") },
		"iso, µs, +00:00":       func(t time.Time) any { return t.Format("'2006-01-02T15:04:05.000000+00:00'") },
		"unix":                  func(t time.Time) any { return t.Unix() },
		"unix ms":               func(t time.Time) any { return t.UnixMilli() },
	} {
		f := newFile(t)
		f.Exec(t, "CREATE TABLE moves (id INTEGER PRIMARY KEY, at TIMESTAMP NOT NULL)")
		coarse := fmt.Sprint(store(start)) == fmt.Sprint(store(start.Add(steps[1]))) // whole seconds only
		for i, step := range steps {
			f.Exec(t, fmt.Sprintf("INSERT INTO moves VALUES (%d, %v)", i+1, store(start.Add(step))))
		}
		s := f.Open(t, 1)
		for _, c := range []struct {
			where string
			at    time.Time
			want  int
		}{
			{"at <= :now", start.Add(2 * time.Second), 4},
			{"at < :now", start.Add(time.Second), 2},
			{"at > :now", start.Add(time.Hour), 1},
			{"at = :now", start.Add(time.Minute), 1},
			{"at <= :now", start.Add(-time.Second), 0},
			{"at >= :now", start, 6},
		} {
			p := scannertest.Prepare(t, s, "SELECT id, at FROM moves WHERE "+c.where)
			if got := len(scannertest.Rows(t, p, map[string]any{"now": c.at})); got != c.want {
				t.Errorf("%s: %s with %s: %d rows, want %d", name, c.where, c.at, got, c.want)
			}
		}
		p := scannertest.Prepare(t, s, "SELECT id, at FROM moves WHERE (at, id) > (:wm_at, :wm_id) ORDER BY at, id")
		seen, args := 0, map[string]any{"wm_at": start.Add(-time.Hour), "wm_id": int64(0)}
		for range 2 * len(steps) {
			_, err := p.Scan(t.Context(), scanners.Request{Args: args, MaxRows: 1}, func(r *row.Row) error {
				seen++
				if got := r.Values[1].Time(); !coarse && !got.Equal(start.Add(steps[seen-1])) {
					t.Errorf("%s: row %d at %s", name, seen, got)
				}
				args = map[string]any{"wm_at": r.Values[1], "wm_id": r.Values[0]}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if seen != len(steps) {
			t.Errorf("%s: the watermark saw %d rows", name, seen)
		}
	}
}

// TestEmptyTable has no times to learn the form from, so parameters are written as datetime() writes times.
func TestEmptyTable(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.Exec(t, "CREATE TABLE moves (at TIMESTAMP)")
	s := f.Open(t, 1)
	at := time.Date(2026, 6, 1, 8, 0, 0, 123456789, time.UTC)
	for d, want := range map[time.Duration]string{
		0:                          "2026-06-01 08:00:00.123456789",
		-123456789:                 "2026-06-01 08:00:00",
		-3456789:                   "2026-06-01 08:00:00.120",
		-456789:                    "2026-06-01 08:00:00.123",
		-789 * time.Nanosecond:     "2026-06-01 08:00:00.123456",
		-123456789 - 8*time.Hour:   "2026-06-01 00:00:00",
		-123456789 - 365*time.Hour: "2026-05-17 03:00:00",
	} {
		if got := scannertest.One(t, s, "SELECT CAST(:now AS TEXT) AS v", map[string]any{"now": at.Add(d)}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		p := scannertest.Prepare(t, s, "SELECT at FROM moves WHERE at = :now")
		if rows := scannertest.Rows(t, p, map[string]any{"now": at}); len(rows) != 0 {
			t.Errorf("%d rows of an empty table", len(rows))
		}
	}
}

// TestTimezone is for files whose times without a zone are local times. They are read as local times, and compared with
// :now as such.
func TestTimezone(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.Exec(t, `CREATE TABLE moves (id INTEGER PRIMARY KEY, at DATETIME, at6 DATETIME(6), stamp TIMESTAMP, unix DATETIME, day DATE);
		INSERT INTO moves VALUES (1, '2026-06-01 08:00:00', '2026-06-01 08:00:00.5', '2026-06-01T00:00:00Z', 1780272000, '2026-06-01'),
			(2, '2026-06-01 08:00:01', '2026-06-01 08:00:01', '2026-06-01T00:00:01Z', 1780272001, '2026-06-02')`)
	for _, c := range []struct{ zone, at string }{
		{"UTC", "2026-06-01T08:00:00"}, {"Asia/Shanghai", "2026-06-01T00:00:00"}, {"+08:00", "2026-06-01T00:00:00"}, {"-03:00", "2026-06-01T11:00:00"},
	} {
		s := f.in(t, c.zone)
		p := scannertest.Prepare(t, s, "SELECT at, at6, stamp, unix, day, datetime(at) AS same FROM moves ORDER BY id")
		values := scannertest.Rows(t, p, nil)[0].Values
		for i, want := range []string{c.at + "Z", c.at + ".5Z", "2026-06-01T00:00:00Z", "2026-06-01T00:00:00Z", "2026-06-01", c.at + "Z"} {
			if got := values[i].String(); got != want {
				t.Errorf("%s: %s is %s, want %s", c.zone, p.Columns()[i].Name, got, want)
			}
		}
		for column, v := range map[string]row.Value{"at": values[0], "at6": values[1], "stamp": values[2], "unix": values[3]} {
			for where, want := range map[string]string{" = :now": "1", " > :now": "2", " = :wm_x": "1", " > :wm_x": "2"} {
				p := scannertest.Prepare(t, s, fmt.Sprintf("SELECT id, %[1]s AS x FROM moves WHERE %[1]s%[2]s", column, where))
				rows := scannertest.Rows(t, p, map[string]any{"now": v.Time(), "wm_x": v})
				if len(rows) != 1 || rows[0].Values[0].String() != want {
					t.Errorf("%s: %s%s: %d rows, want row %s", c.zone, column, where, len(rows), want)
				}
			}
		}
	}
	_, err := sqlite.Open(sqlite.Config{URL: "sqlite:x.db", Location: zone(t, "+05:30")})
	if err == nil || !strings.Contains(err.Error(), "Asia/Kolkata") {
		t.Errorf("an offset that the driver does not read: %v", err)
	}
}

// TestSQLTellsTheTimeOfConditions compares the clocks of SQL with :now. In UTC they agree; in other zones SQLite's own
// clock is refused.
func TestSQLTellsTheTimeOfConditions(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	now := time.Now()
	clocks := []string{
		"datetime('now')", "datetime()", "datetime( 'NOW' )", "datetime(strftime('%Y-%m-%d %H:%M:%S', 'now'))", "datetime(CURRENT_TIMESTAMP)", "datetime(unixepoch(), 'unixepoch')",
		"datetime('subsec')", "datetime('SubSecond')", "datetime(strftime('%Y-%m-%d %H:%M:%f', 'subsec'))", "datetime(unixepoch('subsec'), 'unixepoch')", "datetime(coalesce(NULL, 'now'))",
		"datetime('2000-01-01', timediff('now', '2000-01-01'))", "datetime('2000-01-01', timediff('subsec', '2000-01-01'))",
	}
	for _, clock := range clocks {
		p := scannertest.Prepare(t, f.in(t, "UTC"), "SELECT "+clock+" AS v")
		if got := scannertest.Rows(t, p, nil)[0].Values[0].Time(); got.Sub(now).Abs() > 5*time.Second {
			t.Errorf("%s: %s", clock, got)
		}
		_, err := f.in(t, "Asia/Shanghai").Prepare(t.Context(), scannertest.Parse(t, "SELECT "+clock+" AS v"))
		if err == nil || !strings.Contains(err.Error(), "write :now") {
			t.Errorf("%s in Shanghai: %v", clock, err)
		}
	}
	for _, sql := range []string{
		"datetime(:now)", "datetime(:now, '-1 hour', '+1 hour')", "datetime(unixepoch('2026-06-01'), 'unixepoch')",
		"datetime(:now, 'subsec')", "datetime('2026-06-01', timediff('2026-06-02', '2026-06-01'))",
	} {
		p := scannertest.Prepare(t, f.in(t, "Asia/Shanghai"), "SELECT "+sql+" AS v, 'now' AS word")
		got := scannertest.Rows(t, p, map[string]any{"now": now})[0].Values[0].Time()
		if strings.Contains(sql, ":now") && got.Sub(now).Abs() > 5*time.Second {
			t.Errorf("%s: %s", sql, got)
		}
	}
}

// in opens the file with a time zone.
func (f *file) in(t *testing.T, name string) scanners.Source {
	t.Helper()
	s, err := sqlite.Open(sqlite.Config{URL: "sqlite:" + f.path, Location: zone(t, name)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	location, err := row.ParseZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return location
}

// TestTimesThatAreOnlyCompared finds rows by a column of times that the probe does not return, in every form of that
// column.
func TestTimesThatAreOnlyCompared(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.Exec(t, `CREATE TABLE moves (id INTEGER PRIMARY KEY, plain TIMESTAMP, iso TIMESTAMP, zulu DATETIME, unix DATETIME, none TIMESTAMP);
		INSERT INTO moves VALUES (1, '2026-11-23 10:00:00', '2026-11-23T10:00:00', '2026-11-23T10:00:00Z', 1795428000, NULL);
		CREATE VIEW seen AS SELECT id, zulu AS at FROM moves`)
	s := f.Open(t, 1)
	for _, c := range []struct {
		sql  string
		want int // an hour after; an hour before nothing is found
	}{
		{"SELECT id FROM moves WHERE plain < :now", 1},
		{"SELECT id FROM moves WHERE iso < :now", 1},
		{"SELECT id FROM moves WHERE zulu < :now", 1},
		{"SELECT id FROM moves m WHERE :now > m.zulu", 1},
		{"SELECT id FROM moves WHERE unix < :now", 1},
		{"SELECT id FROM moves WHERE none < :now", 0},
		{"SELECT id, plain FROM moves WHERE zulu < :now", 1},
		{"SELECT id, plain FROM moves WHERE zulu < :now AND none IS NULL", 1},
		{"SELECT id FROM seen WHERE at < :now", 1},
		{"SELECT id FROM (SELECT * FROM moves) x WHERE x.zulu < :now", 1},
		{"SELECT id FROM moves WHERE EXISTS (SELECT 1 FROM moves n WHERE n.zulu < :now)", 1},
		{"SELECT id FROM moves WHERE datetime(zulu) < :now", 1},
	} {
		p := scannertest.Prepare(t, s, c.sql)
		for _, apart := range []time.Duration{time.Hour, -time.Hour} {
			want := c.want
			if apart < 0 {
				want = 0
			}
			now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC).Add(apart)
			if got := len(scannertest.Rows(t, p, map[string]any{"now": now})); got != want {
				t.Errorf("%s at %s: %d rows, want %d", c.sql, now.Format(time.TimeOnly), got, want)
			}
		}
	}
	p := scannertest.Prepare(t, s, "SELECT id FROM moves WHERE plain < :now AND zulu < :now")
	_, err := p.Scan(t.Context(), scanners.Request{Args: map[string]any{"now": time.Now()}, MaxRows: 1}, func(*row.Row) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "plain and zulu, which write their times in different forms") {
		t.Error(err)
	}
}
