package postgres_test

import (
	"strings"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/postgres"
	"tallyman/internal/testenv"
)

// A refusal has a reason, the database's code, and the database's own words.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make, undo string
		want       string
		reason     ledger.RefusalReason
	}{
		"disk full": {
			`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'could not extend file "base/1/2": No space left on device' USING ERRCODE = '53100'; END $$;
			CREATE TRIGGER full_disk BEFORE INSERT ON firings EXECUTE FUNCTION full_disk()`,
			"DROP TRIGGER full_disk ON firings",
			`the disk of the ledger is full: make room on it (SQLSTATE 53100: could not extend file "base/1/2": No space left on device)`, ledger.RefusedDiskFull,
		},
		"constraint": {
			"ALTER TABLE firings ADD CONSTRAINT frozen CHECK (false) NOT VALID", "ALTER TABLE firings DROP CONSTRAINT frozen",
			"a constraint of a table forbids the record (SQLSTATE 23514: table firings, constraint frozen)", ledger.RefusedConstraint,
		},
		"table": {
			"ALTER TABLE firings RENAME TO gone", "ALTER TABLE gone RENAME TO firings",
			`a table of the ledger differs from what the program created (SQLSTATE 42P01: relation "firings" does not exist)`, ledger.RefusedSchema,
		},
		"a trigger of the site": {
			`CREATE FUNCTION veto() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'ann@example.com says no'; END $$;
			CREATE TRIGGER veto BEFORE INSERT ON firings EXECUTE FUNCTION veto()`,
			"DROP TRIGGER veto ON firings",
			"the server of the ledger refuses the record (SQLSTATE P0001)", ledger.RefusedOther,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t)
			l := open(t, url, ledger.Options{})
			execute(t, url, c.make)
			err := l.TryCommit(t.Context())
			if r, refused := l.Refusal(err); !refused || r.Reason != c.reason || r.String() != c.want {
				t.Errorf("%v is the refusal %s", err, r)
			}
			execute(t, url, c.undo)
			if err := l.TryCommit(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A standby that nobody has promoted, and a database that an operator has frozen, answer reads and refuse writes.
func TestReadOnlyLedgerRefuses(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	execute(t, url, readOnlyDatabase)
	l := open(t, url, ledger.Options{})
	err := l.TryCommit(t.Context())
	if r, refused := l.Refusal(err); !refused || r.Reason != ledger.RefusedReadOnly || !strings.Contains(r.String(), "SQLSTATE 25006") {
		t.Errorf("%v is the refusal %s", err, r)
	}
	if err := l.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// A server that is killed or shuts down is out of reach: it has refused nothing.
func TestServerThatGoesDownRefusesNothing(t *testing.T) {
	t.Parallel()
	server := testenv.PostgresServer(t)
	url := server.Database()
	if _, err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	l := open(t, url, ledger.Options{})
	for what, end := range map[string]func(){"stopped": server.Stop, "killed": server.Kill} {
		if err := l.TryCommit(t.Context()); err != nil {
			t.Fatal(err)
		}
		end()
		for range 20 {
			err := l.TryCommit(t.Context())
			if r, refused := l.Refusal(err); err == nil || refused {
				t.Errorf("%s: %v is the refusal %s", what, err, r)
			}
		}
		server.Restart()
		testenv.Eventually(t, func() bool { return l.TryCommit(t.Context()) == nil }, 20*time.Second)
	}
}
