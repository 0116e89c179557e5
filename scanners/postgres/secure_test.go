package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/testenv"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// TestSecondLock runs statements that rules/probe would refuse. Nothing is written, and the next scan finds the session
// unchanged.
func TestSecondLock(t *testing.T) {
	t.Parallel()
	address := testenv.Postgres(t)
	s, err := Open(t.Context(), Config{URL: address, MaxConnections: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	conn, err := s.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "CREATE TABLE bins (id int)"); err != nil {
		t.Fatal(err)
	}
	conn.Release()

	scan := func(sql string) error {
		p := &prepared{source: s, tx: s, sql: sql}
		p.watched.Store(time.Now().UnixNano())
		_, err := p.Scan(t.Context(), scanners.Request{}, func(*row.Row) error { return nil })
		return err
	}
	for sql, code := range map[string]scanners.Code{
		"DELETE FROM bins":              scanners.CodeReadOnly,
		"CREATE TABLE made (x int)":     scanners.CodeReadOnly,
		"SELECT nextval('s')":           scanners.CodeStatement,
		"SELECT 1; DELETE FROM bins":    scanners.CodeStatement,
		"SELECT * FROM bins FOR UPDATE": scanners.CodeReadOnly,
		"SET TRANSACTION READ WRITE":    "",
		"SET statement_timeout = 0":     "",
		"COMMIT":                        scanners.CodeReadOnly,
		"ROLLBACK":                      scanners.CodeReadOnly,
		"PREPARE stuck AS SELECT 1":     "",
		"LISTEN gossip":                 "",
	} {
		err := scan(sql)
		var e *scanners.Error
		if code != "" && (!errors.As(err, &e) || e.Code != code) {
			t.Errorf("%s: want %s, got %v", sql, code, err)
		}
		if err := scan("DELETE FROM bins"); err == nil {
			t.Errorf("%s: the transaction after it may write", sql)
		}
		conn, err := s.begin(t.Context(), s.timeout)
		if err != nil {
			t.Fatal(err)
		}
		var state string
		err = conn.QueryRow(t.Context(), `SELECT current_setting('statement_timeout') || (SELECT count(*) FROM pg_prepared_statements WHERE name = 'stuck')
			|| (SELECT count(*) FROM pg_listening_channels()) || current_setting('transaction_read_only')`, pgx.QueryExecModeExec).Scan(&state)
		s.end(t.Context(), conn)
		if err != nil || state != "30s00on" {
			t.Errorf("%s: the session after it is %s, %v", sql, state, err)
		}
	}
}
