package testenv

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestPostgresDatabasesAreApart(t *testing.T) {
	t.Parallel()
	one, two := connect(t, Postgres(t)), connect(t, Postgres(t))
	query(t, one, "CREATE TABLE only_here AS SELECT 1 AS x")
	if _, err := two.Exec(t.Context(), "SELECT * FROM only_here"); err == nil {
		t.Error("two databases share a table")
	}
}

// TestPostgresCopiesAreApart: a copy has what the database had, and no more of another copy.
func TestPostgresCopiesAreApart(t *testing.T) {
	t.Parallel()
	made := 0
	prepare := func(url string) error {
		made++
		c, err := pgx.Connect(t.Context(), url)
		if err != nil {
			return err
		}
		_, err = c.Exec(t.Context(), "CREATE TABLE bins AS SELECT 1 AS id")
		return errors.Join(err, c.Close(t.Context()))
	}
	for range 2 {
		c := connect(t, PostgresCopy(t, prepare))
		query(t, c, "INSERT INTO bins VALUES (2) RETURNING id::text")
		if n := query(t, c, "SELECT count(*)::text FROM bins"); n != "2" {
			t.Errorf("a copy has %s rows", n)
		}
	}
	if made != 1 {
		t.Errorf("the database was made %d times", made)
	}
}

func TestPostgresServerSurvivesKill(t *testing.T) {
	t.Parallel()
	s := PostgresServer(t)
	url := s.Database()
	c := connect(t, url)
	query(t, c, "CREATE TABLE kept AS SELECT 42 AS x")
	s.Kill()
	if err := c.Ping(t.Context()); err == nil {
		t.Error("a killed server answered")
	}
	s.Restart()
	if got := query(t, connect(t, url), "SELECT x::text FROM kept"); got != "42" {
		t.Errorf("after the crash the table has %s", got)
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	return c
}

// query runs the statement and returns the first column of its first row, if it has one.
func query(t *testing.T, c *pgx.Conn, sql string) string {
	t.Helper()
	rows, err := c.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var v string
	if rows.Next() {
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return v
}
