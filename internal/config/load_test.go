package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/rules/problem"
	"tallyman/scanners"
	"tallyman/scanners/mysql"
	"tallyman/scanners/oracle"
	"tallyman/scanners/postgres"
	"tallyman/scanners/sqlite"
	"tallyman/scanners/sqlserver"
	"tallyman/sinks"
	"tallyman/sinks/chat"
	"tallyman/sinks/inbox"
	"tallyman/sinks/mail"
	"tallyman/sinks/queue"
	"tallyman/sinks/stdout"
	"tallyman/sinks/webhook"
)

// types are those of the program.
func types() Types {
	return Types{
		Sinks:   []sinks.Type{inbox.Type, queue.Type, webhook.Type, mail.Type, chat.Type, stdout.Type},
		Drivers: []scanners.Driver{postgres.Driver, mysql.Driver, sqlserver.Driver, oracle.Driver, sqlite.Driver},
	}
}

// write puts a configuration into a folder of its own and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tallyman.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func load(t *testing.T, text string, env ...string) *Config {
	t.Helper()
	c, err := Load(Options{Types: types(), File: write(t, text), Env: env})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestShippedConfigurationLoads(t *testing.T) {
	t.Parallel()
	c, err := Load(Options{Types: types(), File: "../../configs/tallyman.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(c.Rules.Paths, c.Types.Path, c.Sources["sample"].Path) {
		if _, err := os.Stat(p); err != nil {
			t.Errorf("it names what is not shipped: %v", err)
		}
	}
	if !c.Redis.Embedded() || c.Ledger.Driver != SQLite || c.Sources["sample"].Driver != SQLite {
		t.Errorf("it needs another server: %+v", c)
	}
	want, err := Load(Options{Types: types(), File: write(t, "{}")})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(c.HTTP, want.HTTP) || c.Auth != want.Auth || c.Redis.Prefix != want.Redis.Prefix || c.Ledger.Retention != want.Ledger.Retention {
		t.Errorf("what it shows as defaults differs from the defaults:\n%+v\n%+v", c, want)
	}
	if diff := cmp.Diff(want.Sinks, c.Sinks); diff != "" {
		t.Errorf("sinks differ from the defaults (-default +shipped):\n%s", diff)
	}
}

func TestMissingFileIsNoProblemList(t *testing.T) {
	t.Parallel()
	_, err := Load(Options{Types: types(), File: filepath.Join(t.TempDir(), "nowhere.yaml")})
	var list problem.List
	if !errors.Is(err, fs.ErrNotExist) || errors.As(err, &list) {
		t.Errorf("got %v", err)
	}
}

func TestDefaultsAndPaths(t *testing.T) {
	t.Parallel()
	file := write(t, `
sources:
  wms: {driver: postgres, url: "postgres://u:p@db/wms"}
  pilot: {driver: sqlite, url: "sqlite:../pilot.db", max_connections: 2, statement_timeout: 1m30s, max_cell_bytes: 2048, max_row_bytes: 8388608, functions: [random, main.f], timezone: Asia/Shanghai}
`)
	c, err := Load(Options{Types: types(), File: file})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(file)
	if c.Ledger.Path != filepath.Join(dir, "tallyman.db") || c.Types.Path != filepath.Join(dir, "types.yaml") ||
		!cmp.Equal(c.Rules.Paths, []string{filepath.Join(dir, "rules")}) {
		t.Errorf("paths are not relative to the file: %+v", c)
	}
	if got := c.Sources["wms"]; got.MaxConnections != 4 || got.StatementTimeout != 30*time.Second {
		t.Errorf("defaults of a source: %+v", got)
	}
	if got := c.Sources["pilot"]; got.Path != filepath.Join(filepath.Dir(dir), "pilot.db") || got.MaxConnections != 2 || !slices.Equal(got.Functions, []string{"random", "main.f"}) ||
		got.StatementTimeout != 90*time.Second || got.Timezone.String() != "Asia/Shanghai" {
		t.Errorf("a source with everything set: %+v", got)
	}
}

func TestEnvironmentWinsOverFileAndFlagsOverBoth(t *testing.T) {
	t.Parallel()
	file := write(t, `
http: {listen: "127.0.0.1:1"}
redis: {prefix: "file:", url: "redis://file:1"}
ledger: {retention: 1d}
sources: {North-WMS: {driver: postgres, url: "postgres://file/x", max_connections: 9}}
`)
	c, err := Load(Options{
		Types: types(), File: file,
		Env: []string{
			"TALLYMAN_HTTP__LISTEN=127.0.0.1:2", "TALLYMAN_REDIS__PREFIX=env:", "TALLYMAN_LEDGER__RETENTION=2d",
			"TALLYMAN_SOURCES__NORTH_WMS__URL=postgres://env/${x}", "TALLYMAN_SOURCES__EAST__DRIVER=sqlite",
			"TALLYMAN_SOURCES__EAST__URL=sqlite:east.db", "TALLYMAN_RULES__PATHS=a, b", "TALLYMAN_REDIS__URL=redis://a:1,redis://b:2",
			// Not settings: other programs' and orchestrators'.
			"TALLYMAN_SERVER=x", "TALLYMAN_PORT_8080_TCP=y", "OTHER__URL=z",
		},
		Set: map[string]string{"http.listen": "127.0.0.1:3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(file)
	got := map[string]any{
		"flag over env":          c.HTTP.Listen,
		"env over file":          c.Redis.Prefix,
		"duration":               c.Ledger.Retention,
		"name with case":         c.Sources["North-WMS"].URL.Reveal(),
		"rest of the entry":      c.Sources["North-WMS"].MaxConnections,
		"new entry":              c.Sources["east"].Path,
		"list":                   c.Rules.Paths,
		"list of redis":          len(c.Redis.URL.URLs),
		"list of redis is known": c.Redis.URL.List,
	}
	want := map[string]any{
		"flag over env":          "127.0.0.1:3",
		"env over file":          "env:",
		"duration":               48 * time.Hour,
		"name with case":         "postgres://env/${x}", // taken as it is
		"rest of the entry":      9,
		"new entry":              filepath.Join(dir, "east.db"),
		"list":                   []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")},
		"list of redis":          2,
		"list of redis is known": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pg"), []byte("postgres://u:from-a-file@db/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := load(t, `
redis: {url: "redis://:${PASSWORD}@r:6379/0", prefix: "${PREFIX}"}
sources: {wms: {driver: postgres, url: "file:${DIR}/pg", max_connections: "${N}"}}
subscriptions: [{type: "${TYPE}", warehouse: "*", subscriber: "user:1"}]
`, "PASSWORD=pw", "PREFIX=t:", "DIR="+dir, "N=7", "TYPE=A: [")
	if got := c.Subscriptions.Seed[0].Type; got != "A: [" {
		t.Errorf("a value with YAML in it became %q", got)
	}
	wms := c.Sources["wms"]
	if wms.URL.Reveal() != "postgres://u:from-a-file@db/x" || wms.MaxConnections != 7 || c.Redis.Prefix != "t:" ||
		c.Redis.URL.URLs[0].Reveal() != "redis://:pw@r:6379/0" {
		t.Errorf("got %+v, %q", c, wms.URL.Reveal())
	}
}

// TestSubscriptionsOfASource, whose parts the environment may set.
func TestSubscriptionsOfASource(t *testing.T) {
	t.Parallel()
	file := write(t, "sources: {wms: {driver: sqlite, url: \"sqlite:wms.db\"}}\nsubscriptions:\n  source: wms\n  sql: |\n    SELECT a\n    FROM b\n")
	c, err := Load(Options{Types: types(), File: file})
	if err != nil {
		t.Fatal(err)
	}
	if from := c.Subscriptions.From; len(c.Subscriptions.Seed) > 0 || from == nil || from.Every != time.Minute || from.SQL != "SELECT a\nFROM b\n" {
		t.Errorf("%+v", c.Subscriptions)
	}
	if c, err = Load(Options{Types: types(), File: file, Env: []string{"TALLYMAN_SUBSCRIPTIONS__EVERY=5m"}}); err != nil || c.Subscriptions.From.Every != 5*time.Minute {
		t.Errorf("%+v, %v", c, err)
	}
}
