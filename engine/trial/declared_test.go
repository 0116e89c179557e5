package trial_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "modernc.org/sqlite"

	"tallyman/engine/trial"
	"tallyman/internal/testenv"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
	"tallyman/scanners/mysql"
	"tallyman/scanners/postgres"
	"tallyman/scanners/sqlite"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// site is a database of the tests: its tables are made with exec, and rules read it through source.
type site struct {
	source func(t *testing.T, zone string) scanners.Source
	exec   func(t *testing.T, statements ...string)
}

func execute(driver, dsn string) func(t *testing.T, statements ...string) {
	return func(t *testing.T, statements ...string) {
		t.Helper()
		db, err := sql.Open(driver, dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		for _, s := range statements {
			if _, err := db.ExecContext(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
}

func sites(t *testing.T) map[string]site {
	t.Helper()
	opened := func(t *testing.T, s scanners.Source, err error) scanners.Source {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	in := func(t *testing.T, zone string) *time.Location {
		t.Helper()
		location, err := row.ParseZone(zone)
		if err != nil {
			t.Fatal(err)
		}
		return location
	}
	pg, maria, file := testenv.Postgres(t), testenv.MariaDB(t), filepath.Join(t.TempDir(), "wms.db")
	return map[string]site{
		"postgres": {func(t *testing.T, zone string) scanners.Source {
			t.Helper()
			s, err := postgres.Open(t.Context(), postgres.Config{URL: pg, Location: in(t, zone)})
			return opened(t, s, err)
		}, execute("pgx", pg)},
		"mariadb": {func(t *testing.T, zone string) scanners.Source {
			t.Helper()
			s, err := mysql.Open(mysql.Config{URL: maria.URL(), Location: in(t, zone)})
			return opened(t, s, err)
		}, execute("mysql", maria.DSN())},
		"sqlite": {func(t *testing.T, zone string) scanners.Source {
			t.Helper()
			s, err := sqlite.Open(sqlite.Config{URL: "sqlite:" + file, Location: in(t, zone)})
			return opened(t, s, err)
		}, execute("sqlite", file)},
	}
}

// eventRule is a rule of mode event over the table moves with that declaration of its column created.
func eventRule(t *testing.T, declaration, where string) *rules.Rule {
	t.Helper()
	set := rules.LoadFile("f.yaml", []byte(fmt.Sprintf(`version: 1
rules:
  - id: moves
    mode: event
    schedule: {cron: "*/5 * * * *"}
    source: wms
    probe:
      sql: SELECT id, created FROM moves WHERE (created > :wm_created OR created = :wm_created AND id > :wm_id) AND %s ORDER BY created, id
      columns: {created: %s}
      watermark: {columns: [created, id], initial: {created: "-1h", id: 0}}
    when: created < now() and created >= now() - duration("1h")
    key: [id, created]
    notice: {type: REP_NOTICE, warehouse: "'w'", title: 'Moved at {{ .created | date "HH:mm:ss" }}', fields: {bin: "string(id)"}}
    deliver: [{sink: inbox}]
`, where, declaration)))
	if len(set.Problems) > 0 {
		t.Fatal(set.Problems)
	}
	return set.Rules[0]
}

var bins = catalog.Catalog{repNotice.Code: repNotice}

// TestDeclaredColumns stores the same times in the forms of other programs. The column has the declared kind in the
// condition, in the key and in templates. :now and the watermark are bound in the column's form.
func TestDeclaredColumns(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	moments := []time.Time{ // 1: too old; 2 to 4: new; 5: in the future, an hour that a text of another form would not tell
		due.Add(-61 * time.Minute), due.Add(-59 * time.Minute), due.Add(-time.Second), due.Add(-123456700 * time.Nanosecond), due.Add(time.Second),
	}
	shanghai := time.FixedZone("", 8*3600)
	texts := func(zone *time.Location, layout string) func(time.Time) string {
		return func(at time.Time) string { return "'" + at.In(zone).Format(layout) + "'" }
	}
	forms := map[string]struct {
		column, declaration string
		write               func(time.Time) string
		fraction            bool // the form has one, so that the second moment before due is another second
		sites               string
		zone                string // of the source
	}{
		"EF Core on SQLite": {
			"TEXT", `{type: time, format: "2006-01-02 15:04:05.9999999"}`, texts(time.UTC, "2006-01-02 15:04:05.9999999"), true, "sqlite", "UTC",
		},
		"Django on MariaDB": {
			"DATETIME(6)", `{type: time, timezone: UTC}`, texts(time.UTC, "2006-01-02 15:04:05.000000"), true, "mariadb", "+08:00",
		},
		"timestamps in UTC": {
			"TIMESTAMP", `{type: time, timezone: UTC}`, texts(time.UTC, "2006-01-02 15:04:05.000000"), true, "postgres", "Asia/Shanghai",
		},
		"ISO texts": {
			"VARCHAR(40)", `{type: time, format: "2006-01-02T15:04:05Z"}`, texts(time.UTC, "2006-01-02T15:04:05Z"), false, "postgres mariadb sqlite", "UTC",
		},
		"local texts": {
			"VARCHAR(40)", `{type: time, format: "20060102150405", timezone: Asia/Shanghai}`, texts(shanghai, "20060102150405"), false, "postgres mariadb sqlite", "UTC",
		},
		"digits in a number": {
			"BIGINT", `{type: time, format: "20060102150405", timezone: "+08:00"}`, texts(shanghai, "20060102150405"), false, "postgres mariadb sqlite", "UTC",
		},
		"Unix seconds": {
			"BIGINT", `{type: unix_seconds}`, func(at time.Time) string { return fmt.Sprint(at.Unix()) }, false, "postgres mariadb sqlite", "+08:00",
		},
		"Unix milliseconds": {
			"BIGINT", `{type: unix_milliseconds}`, func(at time.Time) string { return fmt.Sprint(at.UnixMilli()) }, true, "postgres mariadb sqlite", "+08:00",
		},
	}
	for place, s := range sites(t) {
		for name, f := range forms {
			if !strings.Contains(f.sites, place) {
				continue
			}
			s.exec(t, "DROP TABLE IF EXISTS moves", "CREATE TABLE moves (id BIGINT, created "+f.column+")")
			for i, at := range moments {
				s.exec(t, fmt.Sprintf("INSERT INTO moves VALUES (%d, %s)", i+1, f.write(at)))
			}
			source := s.source(t, f.zone)
			for where, want := range map[string]int{"created < :now": 3, "NOT (created >= :now)": 3, ":now > moves.created": 3, "created BETWEEN :last_run_at AND :now": 0, "id < 9": 4} {
				try, err := trial.New(eventRule(t, f.declaration, where), source, bins, trial.Start{})
				if err == nil {
					err = try.Verify(t.Context())
				}
				if err != nil {
					t.Fatalf("%s on %s, %s: %v", name, place, where, err)
				}
				if got := try.Columns()[1].Kind; got != row.Time {
					t.Errorf("%s on %s: the column is a %s", name, place, got)
				}
				run, err := try.Run(t.Context(), due)
				if err != nil || run.Run.Error != "" || run.Run.Rows != want || run.Run.Matched != min(want, 3) {
					t.Errorf("%s on %s, %s: %d rows of %d match, want %d: %v %s", name, place, where, run.Run.Matched, run.Run.Rows, want, err, run.Run.Error)
					continue
				}
				if want == 0 {
					continue
				}
				title := run.Commits[0].Notices[0].Notice.Title
				if key := run.Commits[0].Notices[0].Notice.Key; title != "Moved at 07:01:00" || key != `[2,"2026-06-01T07:01:00Z"]` {
					t.Errorf("%s on %s: %q, key %s", name, place, title, key)
				}
				if run, err = try.Run(t.Context(), due.Add(500*time.Millisecond)); err != nil || run.Run.Rows != 0 || run.Run.Error != "" {
					t.Errorf("%s on %s, %s: %d rows come again: %v %s", name, place, where, run.Run.Rows, err, run.Run.Error)
				}
			}
		}
	}
}

// TestDeclaredValues reads kinds that only conditions compare. An error names the kind that a value does not have.
func TestDeclaredValues(t *testing.T) {
	t.Parallel()
	for place, s := range sites(t) {
		s.exec(t, "CREATE TABLE bins (id BIGINT, qty VARCHAR(20), held SMALLINT, locked CHAR(1), day VARCHAR(10), packed VARCHAR(30))",
			"INSERT INTO bins VALUES (1, '10.50', 1, 'Y', '20260601', '01.06.2026 08:00'), (2, '9', 0, 'N', NULL, NULL)")
		set := rules.LoadFile("f.yaml", []byte(`version: 1
rules:
  - id: bins
    schedule: {cron: "*/5 * * * *"}
    source: wms
    probe:
      sql: SELECT id, qty, held, locked, day, packed FROM bins
      columns:
        qty: {type: decimal}
        held: {type: bool}
        locked: {type: bool}
        day: {type: date, format: "20060102"}
        packed: {type: time, format: "02.01.2006 15:04", timezone: Asia/Shanghai}
    when: held and locked and qty > 9.5 and day.Month() == 6 and packed.Hour() == 0 or not held and not locked and qty < 10 and day == nil
    key: [id, qty, held, day, packed]
    notice: {type: REP_NOTICE, warehouse: "'w'", title: Look, fields: {bin: "string(id)", qty: qty}}
    deliver: [{sink: inbox}]
`))
		if len(set.Problems) > 0 {
			t.Fatal(set.Problems)
		}
		due := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
		run := func() *trial.Run {
			try, err := trial.New(set.Rules[0], s.source(t, "UTC"), bins, trial.Start{})
			if err == nil {
				err = try.Verify(t.Context())
			}
			if err != nil {
				t.Fatalf("%s: %v", place, err)
			}
			got, err := try.Run(t.Context(), due)
			if err != nil {
				t.Fatalf("%s: %v", place, err)
			}
			return got
		}
		if got := run(); got.Run.Matched != 2 || got.Commits[0].Notices[0].Notice.Key != `[1,10.5,true,"2026-06-01","2026-06-01T00:00:00Z"]` {
			t.Errorf("%s: %+v", place, got.Run)
		}
		for update, want := range map[string]string{
			"day = '2026-6-1'": `column day holds "2026-6-1", which is no date as "20060102" (where id is 1)`,
			"packed = 'soon'":  `column packed holds "soon", which is no time as "02.01.2006 15:04" (where id is 1)`,
			"held = 2":         `column held holds "2", which is no bool (where id is 1)`,
			"qty = '10,5'":     `column qty holds "10,5", which is no decimal (where id is 1)`,
			"locked = '-'":     `column locked holds "-", which is no bool`,
			"day = '20260631'": `"20260631", which is no date`,
			"packed = ''":      `NULLIF(packed, '')`,
		} {
			s.exec(t, "UPDATE bins SET qty = '10.50', held = 1, locked = 'Y', day = '20260601', packed = '01.06.2026 08:00' WHERE id = 1", "UPDATE bins SET "+update+" WHERE id = 1")
			if got := run().Run.Error; !strings.HasPrefix(got, string(scanners.CodeFailed)) || !strings.Contains(got, want) {
				t.Errorf("%s, %s: %q, want %q", place, update, got, want)
			}
		}
	}
}

// TestTimesAreComparedWithTimes: a built-in time that is compared with a text or a number is refused. The database
// would compare texts or numbers, and return all rows or none.
func TestTimesAreComparedWithTimes(t *testing.T) {
	t.Parallel()
	for place, s := range sites(t) {
		s.exec(t, "CREATE TABLE moves (id BIGINT, created VARCHAR(30), seconds BIGINT, at TIMESTAMP NULL, day DATE)", "CREATE TABLE orders (no BIGINT, placed VARCHAR(30), at TIMESTAMP NULL)")
		source := s.source(t, "UTC")
		for sqlText, column := range map[string]string{
			"SELECT id FROM moves WHERE created < :now":                                                             "created",
			"SELECT id FROM moves WHERE seconds < :now":                                                             "seconds",
			"SELECT id FROM moves m WHERE id > 3 AND (m.created >= :last_run_at OR id = 1)":                         "m.created",
			"SELECT id FROM moves WHERE :scheduled_at > seconds":                                                    "seconds",
			"SELECT id FROM moves WHERE created NOT BETWEEN :last_run_at AND :now":                                  "created",
			"SELECT m.id FROM moves m JOIN orders o ON o.no = m.id AND o.placed < :now":                             "o.placed",
			"SELECT m.id FROM moves m WHERE EXISTS (SELECT 1 FROM orders o WHERE o.no = m.id AND m.created < :now)": "m.created",
			"WITH late AS (SELECT no AS id, placed FROM orders) SELECT id FROM late WHERE placed < :now":            "placed",
			"SELECT id FROM moves WHERE id = 1 UNION SELECT no FROM orders WHERE placed < :now":                     "placed",
			"SELECT id, CASE WHEN created < :now THEN 1 ELSE 0 END AS late FROM moves":                              "created",
		} {
			_, err := scanners.PrepareForms(t.Context(), source, parsed(t, sqlText), nil)
			if place == "postgres" && strings.Contains(sqlText, " ON ") && err != nil {
				continue // it refuses the question as it does the probe
			}
			if err == nil || !strings.HasPrefix(err.Error(), "probe_param: ") || !strings.Contains(err.Error(), " with "+column+", which ") {
				t.Errorf("%s: %s: %v", place, sqlText, err)
			}
		}
		for _, sqlText := range []string{
			"SELECT id FROM moves WHERE at < :now", "SELECT id FROM moves WHERE day <= :now", "SELECT m.id FROM moves m JOIN orders o ON o.no = m.id WHERE o.at BETWEEN :last_run_at AND :now",
			"WITH late AS (SELECT no AS id, at FROM orders WHERE at < :now) SELECT id FROM late WHERE at < :now", "SELECT id FROM moves WHERE at >= :now AND created = 'x' AND seconds < 4",
			"SELECT id FROM moves WHERE id IN (SELECT no FROM orders WHERE at < :now) AND CASE WHEN seconds > 0 THEN at ELSE NULL END < :now",
		} {
			if _, err := scanners.PrepareForms(t.Context(), source, parsed(t, sqlText), nil); err != nil {
				t.Errorf("%s: %s: %v", place, sqlText, err)
			}
		}
	}
}

func parsed(t *testing.T, text string) *probe.Statement {
	t.Helper()
	stmt, faults := probe.Parse(text)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return stmt
}
