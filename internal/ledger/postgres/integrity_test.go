package postgres

import (
	"context"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/testenv"
)

var update = flag.Bool("update", false, "write shape.txt anew")

// newLedger makes a ledger, and returns its URL and a connection.
func newLedger(t *testing.T) (string, *pgx.Conn) {
	t.Helper()
	url := testenv.Postgres(t)
	if _, err := Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	noError(t, err)
	t.Cleanup(func() { noError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	return url, conn
}

// TestShape compares shape.txt with a new ledger.
func TestShape(t *testing.T) {
	t.Parallel()
	_, conn := newLedger(t)
	shape, err := names(t.Context(), conn, "shape")
	noError(t, err)
	text := strings.Join(shape, "\n") + "\n"
	if *update {
		noError(t, os.WriteFile("shape.txt", []byte(text), 0o600))
	} else if text != shapeText {
		t.Error("shape.txt is not the shape of a new ledger; go test ./internal/ledger/postgres -run TestShape -update writes it anew")
	}
}

// Each fault is found by its name, and amcheck reads the indexes where the role may.
func TestIntegrity(t *testing.T) {
	t.Parallel()
	url, conn := newLedger(t)
	found := func() Integrity {
		t.Helper()
		i, err := CheckIntegrity(t.Context(), url, false)
		noError(t, err)
		return i
	}
	run := func(statement string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), statement)
		noError(t, err)
	}
	if i := found(); len(i.Missing)+len(i.Invalid)+len(i.Damaged)+i.Indexes != 0 || i.Unread != "the extension amcheck is not there" {
		t.Errorf("a new ledger: %+v", i)
	}
	run("CREATE SCHEMA tools; CREATE EXTENSION amcheck SCHEMA tools")
	if i := found(); i.Unread != "" || i.Indexes < 30 || len(i.Damaged) > 0 {
		t.Errorf("with amcheck: %+v", i)
	}
	run("ALTER TABLE audit DISABLE TRIGGER audit_append_only; DROP INDEX notices_created; ALTER TABLE types DROP CONSTRAINT types_numeric_id_key")
	run("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'marks_at'::regclass")
	run("ALTER TABLE subscriptions DROP CONSTRAINT subscriptions_type_fkey; ALTER TABLE subscriptions ADD CONSTRAINT subscriptions_type_fkey FOREIGN KEY (type) REFERENCES types ON DELETE CASCADE NOT VALID")
	i := found()
	want := []string{"constraint types.types_numeric_id_key", "index notices.notices_created", "index types.types_numeric_id_key", "trigger audit.audit_append_only"}
	if !slices.Equal(i.Missing, want) {
		t.Errorf("missing are %v, want %v", i.Missing, want)
	}
	if want := []string{"constraint subscriptions.subscriptions_type_fkey", "index marks_at"}; !slices.Equal(i.Invalid, want) {
		t.Errorf("invalid are %v, want %v", i.Invalid, want)
	}
	if i, err := CheckIntegrity(t.Context(), url, true); err != nil || len(i.Missing) > 0 {
		t.Errorf("of a newer schema: %+v, %v", i, err)
	}
}

// An index whose order is not that of its table's texts is damaged, as after a change of the machine's locales.
func TestDamagedIndex(t *testing.T) {
	t.Parallel()
	url, conn := newLedger(t)
	// The index keeps the order of one operator class, and the catalogue names another.
	_, err := conn.Exec(t.Context(), `CREATE EXTENSION amcheck; INSERT INTO marks (notice_id, subscriber, kind, warehouse, at)
SELECT 'n_' || i, 'user:ann', 'read', '1', i FROM generate_series(1, 100) i;
DROP INDEX marks_at; CREATE INDEX marks_at ON marks (at DESC, notice_id, subscriber, kind);
UPDATE pg_index SET indoption = '0 0 0 0' WHERE indexrelid = 'marks_at'::regclass`)
	noError(t, err)
	i, err := CheckIntegrity(t.Context(), url, false)
	noError(t, err)
	if len(i.Damaged) != 1 || !strings.HasPrefix(i.Damaged[0], "index marks_at: ") {
		t.Errorf("damaged are %v", i.Damaged)
	}
	_, err = conn.Exec(t.Context(), "CREATE ROLE integrity_reader LOGIN; GRANT USAGE ON SCHEMA public TO integrity_reader")
	noError(t, err)
	other, err := CheckIntegrity(t.Context(), strings.Replace(url, "postgres@", "integrity_reader@", 1), false)
	if err != nil || other.Unread != "the role may not call amcheck" || len(other.Missing) > 0 {
		t.Errorf("as a role without rights: %+v, %v", other, err)
	}
}
