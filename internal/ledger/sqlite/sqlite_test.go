package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/sqlite"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
)

func TestMain(m *testing.M) {
	ledgertest.Main(func(ctx context.Context, path string, opts ledger.Options) (ledger.Ledger, error) {
		return sqlite.Open(ctx, path, opts)
	})
	// Each step of the model is one or two transactions, which are slow under -race and in pure Go. The flag
	// -rapid.checks still wins.
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	testenv.Main(m)
}

func TestLedger(t *testing.T) {
	ledgertest.Run(t, func(t testing.TB) ledgertest.Database {
		t.Helper()
		path := migrated(t)
		return ledgertest.Database{
			OneNode: true,
			Refuse: func(t testing.TB, refuse bool) {
				t.Helper()
				ledgertest.RefuseRecords(t, "sqlite", besideDSN(path), refuse)
			},
			Open: func(t testing.TB, opts ledger.Options) ledger.Ledger {
				t.Helper()
				return open(t, path, opts)
			},
		}
	})
}

// besideDSN returns how another program would open the file.
func besideDSN(path string) string {
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path) + "?_pragma=busy_timeout(10000)"
}

// openBeside opens the file as another program would.
func openBeside(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", besideDSN(path))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// empty is the file of a new ledger, kept because the migrations take longer than most tests.
var empty struct {
	once sync.Once
	file []byte
}

// migrated makes a new ledger and returns its path.
func migrated(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger 100%?#.db")
	empty.once.Do(func() {
		first := filepath.Join(t.TempDir(), "first.db")
		if _, err := sqlite.Migrate(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		var err error
		if empty.file, err = os.ReadFile(first); err != nil {
			t.Fatal(err)
		}
	})
	if len(empty.file) == 0 {
		t.Fatal("there is no empty ledger")
	}
	if err := os.WriteFile(path, empty.file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, path string, opts ledger.Options) *sqlite.Ledger {
	t.Helper()
	l, err := sqlite.Open(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// holdFile makes the test binary a process that opens the ledger and holds it until it is killed.
const holdFile = "LEDGER_HELD_BY_THIS_PROCESS"

func TestHoldFile(t *testing.T) {
	path := os.Getenv(holdFile)
	if path == "" {
		return // this is not the process that TestSecondProcess starts
	}
	commit(t, open(t, path, ledger.Options{}), 1)
	fmt.Fprintln(os.Stdout, "held")
	<-time.After(time.Minute) // the test kills the process long before
}

func TestSecondProcess(t *testing.T) {
	t.Parallel()
	path := migrated(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHoldFile$")
	cmd.Env = append(os.Environ(), holdFile+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := ""
	for lines := bufio.NewScanner(out); said != "held"; said = lines.Text() {
		if !lines.Scan() {
			t.Fatalf("the other process does not hold the ledger; it said %q at last", said)
		}
	}
	_, openErr := sqlite.Open(t.Context(), path, ledger.Options{})
	_, migrateErr := sqlite.Migrate(t.Context(), path)
	if status, err := sqlite.Status(t.Context(), path); err != nil || status[0].Applied.IsZero() {
		t.Errorf("the status while another process has the ledger: %+v, %v", status, err)
	}
	for _, err := range []error{openErr, migrateErr} {
		if !errors.Is(err, ledger.ErrInUse) || !strings.Contains(err.Error(), "process "+strconv.Itoa(cmd.Process.Pid)) {
			t.Errorf("while another process has the ledger: %v", err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed

	l := open(t, path, ledger.Options{}) // the lock file of the dead process blocks nobody
	list, err := l.Pending(t.Context(), ledger.Lane{Sink: "gateway"}, 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("of the killed process' commit are left: %v, %v", list, err)
	}
}

func TestSecondLedgerOfAProcess(t *testing.T) {
	t.Parallel()
	path := migrated(t)
	first := open(t, path, ledger.Options{})
	if _, err := sqlite.Open(t.Context(), path, ledger.Options{}); !errors.Is(err, ledger.ErrInUse) {
		t.Fatalf("got %v, want ErrInUse", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path, ledger.Options{})
}

func TestReopen(t *testing.T) {
	t.Parallel()
	path := migrated(t)
	l := open(t, path, ledger.Options{})
	c := commit(t, l, 1)
	claimed, err := l.Claim(t.Context(), "r", "", 0, at(2), "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	l = open(t, path, ledger.Options{})
	s, err := l.Scope(t.Context(), "r", "")
	if err != nil || !s.Done.Equal(c.Due) || s.Running == nil || s.Running.Token != claimed.Token {
		t.Fatalf("after opening again: %+v, %v", s, err)
	}
	findings, err := l.Findings(t.Context(), "r", "")
	if err != nil || len(findings) != 1 {
		t.Fatalf("findings %v, %v", findings, err)
	}
	if err := l.Renew(t.Context(), claimed, time.Hour); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesAnotherSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	refused := func(what string) {
		t.Helper()
		if _, err := sqlite.Open(t.Context(), path, ledger.Options{}); !errors.Is(err, ledger.ErrSchema) {
			t.Fatalf("%s: got %v, want ErrSchema", what, err)
		}
	}
	refused("no file")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("opening made the file: %v", err)
	}
	status, err := sqlite.Status(t.Context(), path)
	if err != nil || len(status) == 0 || !status[0].Applied.IsZero() {
		t.Fatalf("before: %+v, %v", status, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("Status made the file: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("an empty file")
	if status, err = sqlite.Status(t.Context(), path); err != nil || !status[0].Applied.IsZero() {
		t.Fatalf("of an empty file: %+v, %v", status, err)
	}
	if files := beside(t, path); len(files) > 2 { // The lock is of Open.
		t.Fatalf("Status made files: %v", files)
	}
	applied, err := sqlite.Migrate(t.Context(), path)
	if err != nil || len(applied) != len(status) {
		t.Fatalf("applied %+v, %v", applied, err)
	}
	if status, err = sqlite.Status(t.Context(), path); err != nil || status[0].Applied.IsZero() {
		t.Fatalf("after: %+v, %v", status, err)
	}
	open(t, path, ledger.Options{})
}

func TestNoLedgerAtAll(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("this is a text, no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first round releases the lock
		if _, err := sqlite.Open(t.Context(), path, ledger.Options{}); err == nil || errors.Is(err, ledger.ErrInUse) {
			t.Fatalf("got %v", err)
		}
	}
	if _, err := sqlite.Migrate(t.Context(), filepath.Join(t.TempDir(), "none", "ledger.db")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a missing folder: %v", err)
	}
}

// TestReadersSeeCommits reads while another goroutine commits.
func TestReadersSeeCommits(t *testing.T) {
	t.Parallel()
	l := open(t, migrated(t), ledger.Options{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; n <= 30; n++ {
			commit(t, l, n)
		}
	}()
	testenv.Eventually(t, func() bool {
		list, err := l.Pending(t.Context(), ledger.Lane{Sink: "gateway"}, 100)
		if err != nil {
			t.Fatal(err)
		}
		return len(list) == 30
	}, 20*time.Second)
	<-done
}

func at(n int) time.Time {
	return time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
}

// commit commits the n-th firing, with one finding and one notice that does not expire soon.
func commit(t testing.TB, l *sqlite.Ledger, n int) ledger.Claim {
	t.Helper()
	if _, err := l.Register(t.Context(), "r", "", 0, at(0)); err != nil {
		t.Error(err)
	}
	c, err := l.Claim(t.Context(), "r", "", 0, at(n), "a", time.Hour)
	if err != nil {
		t.Error(err)
	}
	id := fmt.Sprintf("n_%d", n)
	_, err = l.Commit(t.Context(), c, &ledger.Commit{
		Run:   ledger.Run{Rule: "r", Due: c.Due, Started: c.Due, Outcome: ledger.OutcomeOK},
		Scope: finding.Scope{LastDue: c.Due},
		Findings: []ledger.FindingChange{{
			Op: ledger.Insert, State: finding.State{Key: id, Phase: finding.Firing, NoticeID: id},
		}},
		Notices: []ledger.NewNotice{{
			Notice: &notice.Notice{
				ID: id, Type: "T", Rule: "r", Status: notice.Firing, CreatedAt: c.Due, ExpiresAt: time.Now().Add(time.Hour),
			},
			Sinks: []ledger.Target{{Sink: "gateway"}},
		}},
	})
	if err != nil {
		t.Error(err)
	}
	return c
}
