package app_test

import (
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/docs/codetest"
	"tallyman/engine/trial"
	"tallyman/internal/app"
	"tallyman/internal/authoring"
	"tallyman/internal/config"
	"tallyman/internal/testenv"
	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/deliver"
	"tallyman/rules/problem"
	"tallyman/scanners"
	"tallyman/scanners/postgres"
	"tallyman/scanners/sqlite"
	"tallyman/sinks/inbox"
)

const codesPage = "../../docs/reference/error-codes.md"

var update = flag.Bool("update", false, "write the outcomes of docs/reference/error-codes.md anew")

// TestErrorCodesDocument runs the examples of failed runs: a piece of the page's rule, on the page's database. The
// flags of its block say what is asked: `check` (rules check --source), `run`, `told` (what the rule tells of itself),
// or `table NAME` (the catalogue), with `on postgres` or `on FILE` where the database is not a file of SQLite that is
// there. SQL blocks change the database, those with the flag later after the rule was verified.
func TestErrorCodesDocument(t *testing.T) {
	codes := codetest.Declared(t, codetest.Constant, "../../scanners/*.go")
	delete(codes, string(scanners.CodeStage)) // is one of rule tests
	maps.Copy(codes, codetest.Declared(t, `Error\{"(\w+)"`, "../../engine/judge/*.go"))
	codes["look_back"] = true // a note of internal/authoring
	codes[rules.AlertUnjudged] = true
	base, bins := codetest.Base(t, codesPage, "base"), codetest.Base(t, codesPage, "bins")
	codetest.Part{
		Page: codesPage, Headings: "Failed runs", Codes: codes,
		Elsewhere: []string{ // by the tests of the engine, of scanners/postgres and of internal/authoring
			"commit_refused", "panic", "look_back_full", string(scanners.CodeUnresolved), "look_back", string(scanners.CodeLong),
		},
		Run: func(t *testing.T, e *codetest.Example) string {
			t.Helper()
			b := e.Blocks[len(e.Blocks)-1]
			asked, place, _ := strings.Cut(b.Flags, " on ")
			x := newExample(t, base, b.Text, place)
			x.exec(t, bins+e.Block("sql", ""))
			what, table, _ := strings.Cut(asked, " ")
			switch what {
			case "check":
				return x.check(t)
			case "run":
				return x.run(t, e.Block("sql", "later")).Run.Error + "\n"
			case "told":
				return toldOfItself(t, x.run(t, ""))
			case "table":
				_, err := x.open(t).(scanners.Inspector).Table(t.Context(), table)
				return fmt.Sprintln(err)
			}
			t.Fatalf("the flags %q begin with none of check, run, told and table", b.Flags)
			return ""
		},
		Update: *update, Command: "go test ./internal/app -run ErrorCodes",
		Sketch: "```yaml run\nan example: a piece of the page's rule\n```\n",
	}.Test(t)
}

// example is a rule file and its source.
type example struct {
	path   string
	cfg    *config.Config
	driver string // of database/sql
	dsn    string
}

func newExample(t *testing.T, base, text, place string) *example {
	t.Helper()
	dir := t.TempDir()
	x := &example{path: filepath.Join(dir, "rule.yaml"), driver: "sqlite", dsn: filepath.Join(dir, "wms.db")}
	text = base + "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n"
	if err := os.WriteFile(x.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	source := config.Source{Driver: config.SQLite, Path: x.dsn, MaxConnections: 2, StatementTimeout: time.Minute}
	switch place {
	case "":
	case "postgres":
		x.driver, x.dsn = "pgx", testenv.Postgres(t)
		source.Driver, source.URL, source.Path = config.Postgres, config.NewSecret(x.dsn), ""
	default:
		source.Path = place
	}
	x.cfg = &config.Config{
		Types:   config.Catalogue{Path: "../../configs/types.yaml"},
		Sources: map[string]config.Source{"wms": source},
		Sinks:   config.Sinks{"inbox": inbox.NewSettings()},
	}
	return x
}

func (x *example) exec(t *testing.T, statements string) {
	t.Helper()
	db, err := sql.Open(x.driver, x.dsn)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), statements)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// check is what `tallyman rules check --source` says.
func (x *example) check(t *testing.T) string {
	t.Helper()
	found, err := app.Authoring().Check(t.Context(), x.cfg, authoring.CheckOptions{Paths: []string{x.path}, Live: true})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	ofSource := slices.DeleteFunc(found.Lints, func(p problem.Problem) bool { return p.Code != string(scanners.CodeTime) }) // the others have examples elsewhere
	for _, p := range slices.Concat(found.Problems, found.Warnings, ofSource) {
		b.WriteString(p.String() + "\n")
	}
	return strings.ReplaceAll(b.String(), filepath.Dir(x.path)+string(filepath.Separator), "")
}

// toldOfItself is the code and the error of what the rule tells of itself.
func toldOfItself(t *testing.T, run *trial.Run) string {
	t.Helper()
	for _, n := range run.Commits[0].Notices {
		if catalog.Reserved(n.Notice.Type) {
			return fmt.Sprintf("%s: %s\n", n.Notice.Data[0].Value, n.Notice.Data[1].Value)
		}
	}
	t.Fatal("the rule tells nothing of itself")
	return ""
}

// run is a run, after a change of the database where there is one.
func (x *example) run(t *testing.T, later string) *trial.Run {
	t.Helper()
	types, problems := catalog.Load(x.cfg.Types.Path)
	set := rules.Load([]string{x.path})
	rules.Check(set, rules.Site{Sources: []string{"wms"}, Sinks: deliver.Sinks{Types: map[string]string{"inbox": "inbox"}}, Types: types})
	if err := append(problems, set.Problems...).Err(); err != nil {
		t.Fatal(err)
	}
	try, err := trial.New(set.Rules[0], x.open(t), types, trial.Start{})
	if err != nil {
		t.Fatal(err)
	}
	if err := try.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	if later != "" {
		x.exec(t, later)
	}
	out, err := try.Run(t.Context(), time.Date(2026, 6, 1, 9, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// open opens the source as a node does.
func (x *example) open(t *testing.T) scanners.Source {
	t.Helper()
	var source scanners.Source
	var err error
	if c := x.cfg.Sources["wms"]; c.Driver == config.Postgres {
		source, err = postgres.Open(t.Context(), postgres.Config{URL: x.dsn})
	} else {
		source, err = sqlite.Open(sqlite.Config{URL: "sqlite:" + c.Path})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	return source
}
