package postgres_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/postgres"
	"tallyman/internal/testenv"
)

// TestSeveralHosts checks which host of a URL becomes the ledger: the one that takes writes, in any order and with
// any other hosts in the list. After a failover it is the other one.
func TestSeveralHosts(t *testing.T) {
	t.Parallel()
	primary := testenv.PostgresServer(t)
	standby := primary.Standby(true)
	url := testenv.HostsURL("postgres", standby, primary)
	if applied, err := postgres.Migrate(t.Context(), url); err != nil || len(applied) == 0 {
		t.Fatalf("%d steps: %v", len(applied), err)
	}
	if steps, err := postgres.Status(t.Context(), url); err != nil || slices.ContainsFunc(steps, func(m ledger.Migration) bool { return m.Applied.IsZero() }) {
		t.Fatalf("%+v: %v", steps, err)
	}
	l := open(t, url, ledger.Options{})
	if err := l.TryCommit(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := l.Incarnation()

	primary.Kill()
	if err := l.TryCommit(t.Context()); err == nil {
		t.Error("a standby took a commit")
	}
	standby.Promote()
	testenv.Eventually(t, func() bool { return l.TryCommit(t.Context()) == nil }, 60*time.Second)
	if l.Incarnation() == before {
		t.Error("nobody noticed that the ledger has another server")
	}
	view, err := postgres.OpenReadOnly(t.Context(), url, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := view.Close(); err != nil {
		t.Error(err)
	}
}

// TestSilentHost checks that a host that accepts connections but never answers costs no more than connect_timeout.
func TestSilentHost(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	l := open(t, strings.Replace(migrated(t), "@", "@"+silent.Addr().String()+",", 1)+"&connect_timeout=1", ledger.Options{})
	if err := l.TryCommit(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestStandbyIsNoLedger checks that Open fails if all hosts of the URL are standbys.
func TestStandbyIsNoLedger(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	execute(t, url, readOnlyDatabase)
	host := url[strings.Index(url, "@")+1 : strings.LastIndex(url, "/")]
	_, err := postgres.Open(t.Context(), strings.Replace(url, host, host+",localhost:1", 1), ledger.Options{})
	if !errors.Is(err, pgconn.ErrReadOnlyConnection) {
		t.Errorf("the ledger opened: %v", err)
	}
}

// TestConnectionsLeaveAReadOnlyServer checks that connections leave a server that takes no writes any more, and that
// the ledger goes on at a server that does.
func TestConnectionsLeaveAReadOnlyServer(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	execute(t, url, readOnlyDatabase)
	l := open(t, url, ledger.Options{MaxConnections: 1})
	if err := l.TryCommit(t.Context()); err == nil {
		t.Fatal("a server that only reads took a commit")
	}
	execute(t, url+"&default_transaction_read_only=off", strings.Replace(readOnlyDatabase, "= on", "= off", 1))
	if err := l.TryCommit(t.Context()); err != nil {
		t.Errorf("the connection to the server that only reads is still there: %v", err)
	}
}

// readOnlyDatabase makes new sessions refuse writes, as a standby does.
const readOnlyDatabase = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$"

// TestURLsHideThePassword checks that no error shows the password, whatever is wrong with a URL of several hosts or
// with its servers.
func TestURLsHideThePassword(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, rest := range []string{
		"localhost:1,localhost:2/x", "localhost:1,localhost/x?sslmode=wrong", "localhost:1,localhost:x/x", "[::1]:1,localhost:1/x?target_session_attrs=no",
		"localhost:1,localhost:2/x?connect_timeout=soon",
	} {
		url := "postgres://u:hunter2@" + rest
		_, opening := postgres.Open(ctx, url, ledger.Options{})
		_, migrating := postgres.Migrate(ctx, url)
		_, looking := postgres.Status(ctx, url)
		for _, err := range []error{opening, migrating, looking} {
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", rest, err)
			}
		}
	}
}
