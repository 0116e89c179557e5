package postgres_test

import (
	"context"
	"errors"
	"flag"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/ledgertest"
	"tallyman/internal/ledger/postgres"
	"tallyman/internal/testenv"
)

func TestMain(m *testing.M) {
	ledgertest.Main(func(ctx context.Context, url string, opts ledger.Options) (ledger.Ledger, error) {
		return postgres.Open(ctx, url, opts)
	})
	// Each step of the model is one or two transactions, which are slow under -race. The flag -rapid.checks still
	// wins.
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	testenv.Main(m)
}

// TestLedger gives each test of the suite a ledger of its own.
func TestLedger(t *testing.T) {
	ledgertest.Run(t, func(t testing.TB) ledgertest.Database {
		t.Helper()
		url := migrated(t)
		return ledgertest.Database{
			Open: func(t testing.TB, opts ledger.Options) ledger.Ledger {
				t.Helper()
				return open(t, url, opts)
			},
			Refuse: func(t testing.TB, refuse bool) {
				t.Helper()
				ledgertest.RefuseRecords(t, "pgx", url, refuse)
			},
		}
	})
}

// migrated makes a new ledger and returns its URL.
func migrated(t testing.TB) string {
	t.Helper()
	return testenv.PostgresCopy(t, func(url string) error {
		_, err := postgres.Migrate(t.Context(), url)
		return err
	})
}

func migrate(t testing.TB, url string) {
	t.Helper()
	if _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, url string, opts ledger.Options) *postgres.Ledger {
	t.Helper()
	l, err := postgres.Open(t.Context(), url, opts)
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

// execute runs one statement.
func execute(t testing.TB, url, sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesAnotherSchema(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	refused := func(what string) {
		t.Helper()
		if _, err := postgres.Open(t.Context(), url, ledger.Options{}); !errors.Is(err, ledger.ErrSchema) {
			t.Fatalf("%s: got %v, want ErrSchema", what, err)
		}
	}
	refused("no schema")
	status, err := postgres.Status(t.Context(), url)
	if err != nil || len(status) == 0 || !status[0].Applied.IsZero() {
		t.Fatalf("before: %+v, %v", status, err)
	}
	refused("asked for the status only")
	applied, err := postgres.Migrate(t.Context(), url)
	if err != nil || len(applied) != len(status) {
		t.Fatalf("applied %+v, %v", applied, err)
	}
	open(t, url, ledger.Options{})
	if applied, err = postgres.Migrate(t.Context(), url); err != nil || len(applied) != 0 {
		t.Fatalf("the second time applied %+v, %v", applied, err)
	}
	status, err = postgres.Status(t.Context(), url)
	if err != nil || status[0].Applied.IsZero() {
		t.Fatalf("after: %+v, %v", status, err)
	}
	execute(t, url, "INSERT INTO ledger_schema (version_id, is_applied) VALUES (99999, true)")
	open(t, url, ledger.Options{}) // A newer version has expanded the ledger.
	if applied, err = postgres.Migrate(t.Context(), url); err != nil || len(applied) != 0 {
		t.Fatalf("an expanded ledger: applied %+v, %v", applied, err)
	}
	execute(t, url, "UPDATE schema_oldest SET version = 99999")
	for what, do := range map[string]func() error{
		"open":    func() error { _, err := postgres.Open(t.Context(), url, ledger.Options{}); return err },
		"migrate": func() error { _, err := postgres.Migrate(t.Context(), url); return err },
		"status":  func() error { status, err = postgres.Status(t.Context(), url); return err },
	} {
		err := do()
		if !errors.Is(err, ledger.ErrNewer) || errors.Is(err, ledger.ErrSchema) || !strings.Contains(err.Error(), "version 99999; the schema of this program has version ") {
			t.Errorf("%s: got %v, want ErrNewer", what, err)
		}
	}
	if len(status) == 0 || status[0].Applied.IsZero() {
		t.Errorf("the steps of a newer ledger: %+v", status)
	}
}

// TestStatusOnlyReads asks in sessions that refuse every write, as a role does that may only read.
func TestStatusOnlyReads(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	for _, applied := range []bool{false, true} {
		if applied {
			migrate(t, url)
		}
		status, err := postgres.Status(t.Context(), url+"&default_transaction_read_only=on")
		if err != nil || len(status) == 0 || status[0].Applied.IsZero() == applied {
			t.Errorf("applied %t: %+v, %v", applied, status, err)
		}
	}
}

func TestNodesMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	var wg sync.WaitGroup
	counts := make([]int, 3)
	for i := range counts {
		wg.Go(func() {
			applied, err := postgres.Migrate(t.Context(), url)
			if err != nil {
				t.Error(err)
			}
			counts[i] = len(applied)
		})
	}
	wg.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	status, err := postgres.Status(t.Context(), url)
	if err != nil || total != len(status) {
		t.Fatalf("%v migrations were applied, there are %d (%v)", counts, len(status), err)
	}
}

func TestErrorsHoldNoPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://u:s3cret@127.0.0.1:1/db?sslmode=nonsense", "postgres://u:s3cret@127.0.0.1:1/db",
		"postgres://u:s3cret@127.0.0.1:99999999/db",
	} {
		_, openErr := postgres.Open(t.Context(), url, ledger.Options{})
		_, migrateErr := postgres.Migrate(t.Context(), url)
		for _, err := range []error{openErr, migrateErr} {
			if err == nil || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: %v", url, err)
			}
		}
	}
}

// wrongServer makes a server whose clock is an hour ahead of its nodes.
const wrongServer = `CREATE OR REPLACE FUNCTION ledger_now(given bigint) RETURNS bigint LANGUAGE sql VOLATILE AS
	$$ SELECT coalesce(given, (extract(epoch FROM clock_timestamp() + interval '1 hour') * 1000000)::bigint) $$`

// A node that uses the server's time gets that time, and judges the leases of other nodes by it.
func TestTheServersClockIsAnHourAhead(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	execute(t, url, wrongServer)
	l := open(t, url, ledger.Options{})
	state, err := l.ReadClock(t.Context())
	if ahead := time.Until(state.Now()).Round(time.Minute); err != nil || ahead != time.Hour {
		t.Errorf("the server is %s ahead: %v", ahead, err)
	}
	if err := l.BeginEpoch(t.Context(), "inbox", "", ledger.IndexState{Epoch: "1-a"}, "a", 10*time.Minute); err != nil {
		t.Fatal(err)
	}
	s, err := l.IndexState(t.Context(), "inbox")
	if left := time.Until(s.Lease); err != nil || left > 10*time.Minute || left < 9*time.Minute {
		t.Errorf("of 10 minutes %s are left: %v", left, err)
	}
}

// A ledger that is open for reading only works beside the nodes and changes nothing.
func TestOpenReadOnly(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	node := open(t, url, ledger.Options{})
	prepare(t, node)
	c, err := node.Claim(t.Context(), "r", "", 0, at(1), "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node.Commit(t.Context(), c, commitOf(c, 1, 3)); err != nil {
		t.Fatal(err)
	}
	view, err := postgres.OpenReadOnly(t.Context(), url, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = view.Close() }()
	list, err := view.Findings(t.Context(), "r", "")
	if err != nil || len(list) != 3 {
		t.Fatalf("%d findings, %v", len(list), err)
	}
	if _, err := view.Register(t.Context(), "new", "", 0, at(0)); err == nil {
		t.Error("a rule was registered")
	}
	if err := view.SetSwitch(t.Context(), ledgertest.Ann, ledger.Switch{Rule: "r", Scope: ledger.Every, At: at(0)}); err == nil {
		t.Error("a rule was switched")
	}
	var _ ledger.View = view
}
