package sourcetest

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"tallyman/internal/app"
	"tallyman/internal/testenv"
	"tallyman/scanners"
	"tallyman/scanners/scannertest"
)

// testedServer is a server of a site: how its address stands in a configuration, and how what is on it is counted.
type testedServer struct {
	driver, url, version string
	schemas              func(t *testing.T, name string) int // how many there are of the name
	make                 func(t *testing.T, name string)
}

func testedServers(t *testing.T) []testedServer {
	t.Helper()
	postgres, maria := testenv.Postgres(t), testenv.MariaDB(t)
	folder := t.TempDir()
	testedExec(t, "sqlite", filepath.Join(folder, "wms.db"), "CREATE TABLE bins (id int)")
	return []testedServer{
		{"postgres", postgres, "1", func(t *testing.T, name string) int {
			t.Helper()
			return testedCount(t, "pgx", postgres, "SELECT count(*) FROM pg_namespace WHERE nspname = '"+name+"'")
		}, func(t *testing.T, name string) { t.Helper(); testedExec(t, "pgx", postgres, "CREATE SCHEMA "+name) }},
		{"mysql", maria.URL(), "MariaDB", func(t *testing.T, name string) int {
			t.Helper()
			return testedCount(t, "mysql", maria.DSN(), "SELECT count(*) FROM information_schema.schemata WHERE schema_name = '"+name+"'")
		}, func(t *testing.T, name string) {
			t.Helper()
			testedExec(t, "mysql", maria.DSN(), "CREATE DATABASE "+name)
			t.Cleanup(func() { testedExec(t, "mysql", maria.DSN(), "DROP DATABASE "+name) })
		}},
		{"sqlite", "sqlite:" + filepath.Join(folder, "wms.db"), "3.", func(t *testing.T, name string) int {
			t.Helper()
			files, err := filepath.Glob(filepath.Join(folder, name+"*"))
			if err != nil {
				t.Fatal(err)
			}
			return len(files)
		}, func(t *testing.T, name string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	}
}

func testedExec(t *testing.T, driver, address, statement string) {
	t.Helper()
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
		t.Fatal(err)
	}
}

func testedCount(t *testing.T, driver, address, query string) (n int) {
	t.Helper()
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestMain(m *testing.M) { testenv.Main(m) }

// TestRun runs the suite against each server that CI has, with and without a schema. Nothing runs beside it: the suite
// measures the memory of the process, and schemas of a server are counted.
func TestRun(t *testing.T) {
	testenv.Slow(t)
	for _, s := range testedServers(t) {
		for _, schema := range []string{"", "tallyman_try"} {
			t.Run(s.driver+"/"+schema, func(t *testing.T) {
				report, err := Run(t.Context(), Target{Driver: s.driver, URL: s.url, Schema: schema})
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(report.Version, s.version) {
					t.Errorf("version %q", report.Version)
				}
				made := 0
				for _, c := range report.Results {
					switch c.Outcome {
					case scannertest.Failed:
						t.Errorf("%s: %s", c.Check, c.Detail)
					case scannertest.Passed:
						made++
					case scannertest.Skipped:
						if c.Detail == "" {
							t.Errorf("%s is skipped for no reason", c.Check)
						}
					}
				}
				least := 16
				if schema != "" {
					least = 30
				}
				if made < least-1 { // SQLite has no clock or no plans
					t.Errorf("%d checks were made, want %d", made, least)
				}
				if n := s.schemas(t, "tallyman_try"); n != 0 {
					t.Errorf("%d schemas are left", n)
				}
			})
		}
	}
}

// TestKeepsWhatIsThere refuses a schema that exists, and leaves it.
func TestKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	for _, s := range testedServers(t) {
		s.make(t, "tallyman_mine")
		_, err := Run(t.Context(), Target{Driver: s.driver, URL: s.url, Schema: "tallyman_mine"})
		if err == nil || !strings.Contains(err.Error(), "exists already") || s.schemas(t, "tallyman_mine") != 1 {
			t.Errorf("%s: %v", s.driver, err)
		}
	}
}

// TestIsInterrupted has the context end while a check writes: the schema goes all the same.
func TestIsInterrupted(t *testing.T) {
	for _, s := range testedServers(t) {
		driver, err := driverOf(Target{Driver: s.driver, URL: s.url, Schema: "tallyman_try"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		d := dialects()[s.driver]
		d.New = func(t scannertest.T) scannertest.Database {
			db := newScratch(t, driver, scanners.Config{URL: s.url}, "tallyman_try")
			stop()
			return db
		}
		var results []scannertest.Result
		scannertest.Judge(ctx, d, scannertest.Tables, func(r scannertest.Result) { results = append(results, r) })
		last := results[len(results)-7]
		if first := results[0]; first.Outcome != scannertest.Failed || !strings.Contains(first.Detail, "interrupted") || last.Detail != "interrupted" {
			t.Errorf("%s: %+v … %+v", s.driver, first, last)
		}
		if n := s.schemas(t, "tallyman_try"); n != 0 {
			t.Errorf("%s: %d schemas are left", s.driver, n)
		}
	}
}

// TestRefusals are of a command that cannot begin.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    Target
		says string
	}{
		{Target{Driver: "db2", URL: "db2://x"}, `--driver is one of postgres, mysql, sqlserver, oracle, sqlite, not "db2"`},
		{Target{Driver: "oracle", URL: "oracle://h"}, "--url is no Oracle address"},
		{Target{Driver: "oracle", URL: "oracle://h/s", Schema: "x; DROP USER y"}, "--create-schema takes a name"},
		{Target{Driver: "sqlite", URL: "sqlite:x.db", Schema: "../x"}, "--create-schema takes a name"},
	} {
		if _, err := Run(t.Context(), c.o); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

// TestSaysNothingOfTheSite looks for the address in errors.
func TestSaysNothingOfTheSite(t *testing.T) {
	t.Parallel()
	maria := testenv.MariaDB(t)
	u, err := url.Parse(maria.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("the_probe", "secret")
	_, refused := Run(t.Context(), Target{Driver: "mysql", URL: u.String()})
	away := testedDrivers(t)
	for _, address := range away {
		_, err := Run(t.Context(), Target{Driver: address[0], URL: address[1]})
		refused = errors.Join(refused, err)
	}
	text := refused.Error()
	for _, word := range []string{"the_probe", "secret", maria.Name + " ", "127.0.0.1", "localhost", "wms_base"} {
		if strings.Contains(text, word) {
			t.Errorf("%q is in: %s", word, text)
		}
	}
	if strings.Count(text, "the server does not answer") != 1+len(away) {
		t.Error(text)
	}
	if got := redactor("mysql://wms:wms@db.example/wms")("wms wms/wms"); got != "*** ***/***" {
		t.Errorf("equal words beside each other: %s", got)
	}
	if got := redactor("mysql://bob:pw@db.example/wms")("Access denied for user 'bob'@'ws7.corp' to wms at db.example, bobby [::1]:3306"); got != "Access denied for user '***'*** to *** at ***, bobby ***" {
		t.Error(got)
	}
}

// testedDrivers are addresses of every server that nobody listens at.
func testedDrivers(t *testing.T) [][2]string {
	t.Helper()
	list := [][2]string{}
	for _, d := range app.Types().Drivers {
		if !d.IsFile {
			list = append(list, [2]string{d.Name, d.Name + "://the_probe:secret@127.0.0.1:1/wms_base?connect_timeout=1"})
		}
	}
	return list
}

// TestEveryDriverCanBeTested: a driver without a dialect would fail at a site.
func TestEveryDriverCanBeTested(t *testing.T) {
	t.Parallel()
	for _, d := range app.Types().Drivers {
		if dialect, found := dialects()[d.Name]; !found || d.Scratch == nil || dialect.Version == "" {
			t.Errorf("driver %s", d.Name)
		}
	}
}

// TestSchemaBeforeTables of statements of the suite, for SQL Server.
func TestSchemaBeforeTables(t *testing.T) {
	t.Parallel()
	d := &database{schema: &scanners.Scratch{Schema: "try_it"}}
	for sql, want := range map[string]string{
		"CREATE TABLE sample (id int, c_text nvarchar(9))":                    "CREATE TABLE try_it.sample (id int, c_text nvarchar(9))",
		"INSERT INTO moves VALUES (1)":                                        "INSERT INTO try_it.moves VALUES (1)",
		"SELECT s.id FROM (SELECT 9 AS n) x LEFT JOIN sample s ON s.id = x.n": "SELECT s.id FROM (SELECT 9 AS n) x LEFT JOIN try_it.sample s ON s.id = x.n",
		"SELECT id FROM sampler":                                              "SELECT id FROM sampler",
	} {
		if got := d.named(sql); got != want {
			t.Errorf("%s", got)
		}
	}
	d.schema.Bare = true
	if got := d.named("SELECT id FROM sample"); got != "SELECT id FROM sample" {
		t.Error(got)
	}
}
