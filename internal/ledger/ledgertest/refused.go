package ledgertest

import (
	"database/sql"
	"testing"
)

// The statements that make a ledger refuse every record of a change, as a full disk does, and those that end that.
const (
	sqliteRefuses   = "CREATE TRIGGER audit_full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'disk full'); END"
	sqliteTakes     = "DROP TRIGGER audit_full"
	postgresRefuses = "CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'disk full'; END $$;" +
		"CREATE TRIGGER audit_full BEFORE INSERT ON audit FOR EACH STATEMENT EXECUTE FUNCTION full_disk()"
	postgresTakes = "DROP TRIGGER audit_full ON audit"
)

// RefuseRecords makes a ledger refuse every record, or lets the ledger take records again. It works beside the nodes of the ledger. The driver is
// one of database/sql, pgx or sqlite, and dsn is what the driver opens.
func RefuseRecords(t testing.TB, driver, dsn string, refuse bool) {
	t.Helper()
	statement := map[string]map[bool]string{
		"pgx":    {true: postgresRefuses, false: postgresTakes},
		"sqlite": {true: sqliteRefuses, false: sqliteTakes},
	}[driver][refuse]
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
