package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tallyman/scanners"
)

// endTimeout bounds the clean-up after a scan; a connection that does not answer by then is closed.
const endTimeout = 5 * time.Second

// transaction is where a statement runs: one of its own (the Source), or a part of a session's. Whatever the statement
// did is gone after end.
type transaction interface {
	begin(ctx context.Context, timeout time.Duration) (*pgxpool.Conn, error)
	// stop makes the server give up the statement that runs, whose rows are not wanted any more. cancel ends ctx.
	stop(ctx context.Context, conn *pgxpool.Conn, cancel context.CancelFunc)
	end(ctx context.Context, conn *pgxpool.Conn)
}

//go:embed end.sql
var endSQL string

// begin starts the read-only transaction of one statement.
func (s *Source) begin(ctx context.Context, timeout time.Duration) (*pgxpool.Conn, error) {
	return s.start(ctx, timeout, "READ ONLY")
}

// start takes a connection and begins a transaction of that mode on it. It waits for a free connection as long as a statement
// may take, and then for the database to accept one. A pooled connection that turns out to be
// dead (the server was restarted) is no reason to fail: the pool is emptied and one more is tried.
func (s *Source) start(ctx context.Context, timeout time.Duration, mode string) (*pgxpool.Conn, error) {
	// With standard strings the server reads the probe as rules/probe did.
	sql := fmt.Sprintf("BEGIN %s; %s; SET LOCAL standard_conforming_strings = on", mode, setTimeout(timeout))
	if !s.timezone {
		sql += "; SET LOCAL timezone = 'UTC'"
	}
	ctx, cancel := context.WithTimeout(ctx, timeout+s.pool.Config().ConnConfig.ConnectTimeout)
	defer cancel()
	for first := true; ; first = false {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			mapped := s.mapError(ctx, err, "")
			if mapped.Code == scanners.CodeTimeout {
				mapped.Hint = "every connection of the source may be in use: see max_connections"
			}
			return nil, mapped
		}
		if err = s.execute(ctx, conn.Conn().PgConn(), sql); err == nil {
			return conn, nil
		}
		s.discard(ctx, conn)
		var mapped *scanners.Error
		if !first || !errors.As(err, &mapped) || mapped.Code != scanners.CodeUnreachable {
			return nil, err
		}
		s.pool.Reset()
	}
}

func setTimeout(timeout time.Duration) string {
	return fmt.Sprintf("SET LOCAL statement_timeout = %d", max(timeout.Milliseconds(), 1))
}

// stop has pgx cancel the statement on the server and close the connection.
func (s *Source) stop(_ context.Context, _ *pgxpool.Conn, cancel context.CancelFunc) { cancel() }

// end rolls back and gives the connection back as if the scan had never been on it. A connection whose scan was cut
// short is closed; pgx then cancels what still runs on the server.
func (s *Source) end(ctx context.Context, conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if !conn.Conn().IsClosed() {
		if s.execute(ctx, conn.Conn().PgConn(), endSQL) != nil {
			_ = conn.Conn().Close(ctx) // the pool drops a closed connection
		}
	}
	conn.Release()
}

// discard closes the connection instead of giving it back.
func (s *Source) discard(ctx context.Context, conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	_ = conn.Conn().Close(ctx)
	conn.Release()
}

// execute runs statements of ours that return nothing of interest.
func (s *Source) execute(ctx context.Context, conn *pgconn.PgConn, statements string) error {
	if _, err := conn.Exec(ctx, statements).ReadAll(); err != nil {
		return s.mapError(ctx, err, "")
	}
	return nil
}

// query runs a statement of ours and returns its rows as texts, NULL as "".
func (s *Source) query(ctx context.Context, conn *pgconn.PgConn, sql string, args ...string) ([][]string, error) {
	values := make([][]byte, len(args))
	for i, arg := range args {
		values[i] = []byte(arg)
	}
	result := conn.ExecParams(ctx, sql, values, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, s.mapError(ctx, result.Err, "")
	}
	rows := make([][]string, len(result.Rows))
	for i, row := range result.Rows {
		for _, value := range row {
			rows[i] = append(rows[i], string(value))
		}
	}
	return rows, nil
}
