package testenv_test

import (
	"database/sql"
	"testing"

	"tallyman/internal/testenv"
)

// TestMariaDB has two databases on one server, each empty.
func TestMariaDB(t *testing.T) {
	t.Parallel()
	for range 2 {
		d := testenv.MariaDB(t)
		db, err := sql.Open("mysql", d.DSN())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE bins (id int); INSERT INTO bins VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM bins").Scan(&n); err != nil || n != 1 {
			t.Errorf("%d rows, %v", n, err)
		}
	}
}
