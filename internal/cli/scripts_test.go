package cli

import (
	"database/sql"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // for the command sql
	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite" // for the commands sql and sqlite

	"tallyman/internal/testenv"
)

// longestWait is how long a script waits for something that a server does.
const longestWait = 30 * time.Second

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"await": await,
			"fetch": fetch,
			// hostport URL VAR: the URL's host and port.
			"hostport": func(ts *testscript.TestScript, _ bool, args []string) {
				u, err := url.Parse(args[0])
				ts.Check(err)
				ts.Setenv(args[1], u.Host)
			},
			// postgres VAR: the URL of a fresh database.
			"sqlite":   sqliteFile,
			"postgres": func(ts *testscript.TestScript, _ bool, args []string) { ts.Setenv(args[0], testenv.Postgres(t)) },
			// redis VAR: the URL of a Redis.
			"redis": func(ts *testscript.TestScript, _ bool, args []string) { ts.Setenv(args[0], testenv.Redis(t).URL()) },
			// pgbouncer MODE URL VAR: the URL by way of a PgBouncer.
			"pgbouncer": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Setenv(args[2], testenv.PgBouncer(t, args[1], args[0]))
			},
			"sql": runSQL,
			// systemd VAR: listens as systemd does, on the socket that VAR then names.
			"systemd": listenAsSystemd,
			// hangup: SIGHUP to the only program in the background; the command kill does not know the signal.
			"hangup": hangUp,
			// told STATE: the node sends a state to systemd that matches the regular expression STATE. Before this state
			// the node sends only WATCHDOG=1.
			"told": waitForState,
		},
		Setup: func(e *testscript.Env) error {
			root, err := os.Getwd()
			e.Setenv("REPO", root+"/../..")
			e.Setenv("GORACE", "atexit_sleep_ms=0") // under the race detector a process would rest for a second before it ends
			return err
		},
	})
}

// sqliteFile makes a database, or changes one: sqlite FILE SQLFILE.
func sqliteFile(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(ts.ReadFile(args[1]))
	ts.Check(errors.Join(err, db.Close()))
}

// exits runs a command that must end with the exit code: exits 2 tallyman nonsense.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v: exit code %d, want %d", args[1:], got, want)
	}
}

// runSQL runs the statements of a file, one after the other: sql FILE.sqlite STATEMENTS, or sql postgres://… STATEMENTS.
func runSQL(ts *testscript.TestScript, _ bool, args []string) {
	driver, where := "sqlite", ts.MkAbs(args[0])
	if strings.HasPrefix(args[0], "postgres:") {
		driver, where = "pgx", args[0]
	}
	db, err := sql.Open(driver, where)
	ts.Check(err)
	defer func() { ts.Check(db.Close()) }()
	for statement := range strings.SplitSeq(ts.ReadFile(args[1]), ";") {
		_, err := db.Exec(statement)
		ts.Check(err)
	}
}

// await waits until a file has the pattern, and keeps its first group: await FILE PATTERN VAR.
func await(ts *testscript.TestScript, _ bool, args []string) {
	file, pattern := ts.MkAbs(args[0]), regexp.MustCompile(args[1])
	ts.Setenv(args[2], waitFor(ts, pattern, func() []byte {
		b, _ := os.ReadFile(file) // not there yet
		return b
	}))
}

// fetch asks a URL until the answer has the pattern: fetch URL PATTERN.
func fetch(ts *testscript.TestScript, _ bool, args []string) {
	waitFor(ts, regexp.MustCompile(args[1]), func() []byte {
		res, err := http.Get(args[0])
		if err != nil {
			return []byte(err.Error())
		}
		defer func() { _ = res.Body.Close() }()
		b, _ := io.ReadAll(res.Body)
		return b
	})
}

// waitFor returns the first group of the pattern in what read returns, once it is there.
func waitFor(ts *testscript.TestScript, pattern *regexp.Regexp, read func() []byte) string {
	end := time.After(longestWait)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		b := read()
		if m := pattern.FindSubmatch(b); m != nil {
			return string(m[len(m)-1])
		}
		select {
		case <-tick.C:
		case <-end:
			ts.Fatalf("no %s after %s in:\n%s", pattern, longestWait, b)
		}
	}
}
