package postgres_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/testenv"
	"tallyman/scanners/postgres"
)

// TestOpenTransactions tests that writing transactions are listed, and that the hidden ones are counted.
func TestOpenTransactions(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	exec(t, address, "CREATE TABLE moves (id integer)")
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	source := open(t, postgres.Config{URL: address})
	for _, statement := range []string{"BEGIN", "SELECT count(*) FROM moves"} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := source.OpenTransactions(t.Context()); err != nil || len(got.Ages) > 0 || got.Hidden > 0 {
		t.Errorf("a transaction that reads: %+v, %v", got, err)
	}
	if _, err := conn.Exec(t.Context(), "INSERT INTO moves VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if got, err := source.OpenTransactions(t.Context()); err != nil || len(got.Ages) != 1 || got.Ages[0] <= 0 || got.Ages[0] > time.Hour {
		t.Errorf("a transaction that writes: %+v, %v", got, err)
	}
	stranger := fmt.Sprintf("stranger_%d", time.Now().UnixNano())
	exec(t, address, "CREATE ROLE "+stranger+" LOGIN PASSWORD 'x'")
	t.Cleanup(func() { exec(t, address, "DROP ROLE "+stranger) })
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(stranger, "x")
	hidden := open(t, postgres.Config{URL: u.String()})
	if got, err := hidden.OpenTransactions(t.Context()); err != nil || len(got.Ages) > 0 || got.Hidden == 0 {
		t.Errorf("a user without rights: %+v, %v", got, err)
	}
	exec(t, address, "GRANT pg_read_all_stats TO "+stranger)
	if got, err := hidden.OpenTransactions(t.Context()); err != nil || len(got.Ages) != 1 || got.Hidden > 0 {
		t.Errorf("a user with the grant: %+v, %v", got, err)
	}
}
