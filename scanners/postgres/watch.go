package postgres

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"tallyman/scanners"
)

//go:embed state.sql
var stateSQL string

// watchEvery is how long a statement runs without a look at what it was resolved to.
const watchEvery = time.Minute

// watch notes the state of what the statement was resolved to. It is read in the resolution's transaction, whose locks keep views as they were.
func (p *prepared) watch(ctx context.Context, conn *pgconn.PgConn, r *resolution) error {
	p.calls = []string{oids(r.functions), oids(r.relations), oids(r.types)}
	state, err := p.look(ctx, conn)
	p.state = state
	p.watched.Store(time.Now().UnixNano())
	return err
}

func (p *prepared) look(ctx context.Context, conn *pgconn.PgConn) (string, error) {
	found, err := p.source.query(ctx, conn, stateSQL, p.calls...)
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", &scanners.Error{Code: scanners.CodeFailed, Err: errors.New("the catalogue does not tell the state of views and functions")}
	}
	return found[0][0], nil
}

// unchanged tells, at most once a minute, whether the statement still calls what was judged. A statement whose view or function was replaced has
// to be prepared anew.
func (p *prepared) unchanged(ctx context.Context, conn *pgconn.PgConn) error {
	now := time.Now().UnixNano()
	if now-p.watched.Load() < int64(watchEvery) {
		return nil
	}
	state, err := p.look(ctx, conn)
	if err != nil {
		return err
	}
	if state != p.state {
		return scanners.Changed(errors.New("a view, a policy or a function that the probe uses was replaced"))
	}
	p.watched.Store(now)
	return nil
}
