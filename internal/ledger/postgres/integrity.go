package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// shapeText lists the parts of the schema at this program's version, one a line. TestShape writes it.
//
//go:embed shape.txt
var shapeText string

// Integrity is what CheckIntegrity found.
type Integrity struct {
	Missing []string // parts of the schema that are not there, such as "index notices.notices_created"
	Invalid []string // indexes and constraints that the server does not trust
	Damaged []string // indexes with faults, each with the error of amcheck
	Indexes int      // how many indexes amcheck has read
	Unread  string   // why amcheck has read no index; "" = amcheck has read them
}

// CheckIntegrity compares the schema of the ledger with the schema of this program. Where the database has the
// extension amcheck, amcheck reads all indexes. CheckIntegrity only reads; nodes may write meanwhile. newer says that
// a newer version has changed the schema. Then CheckIntegrity does not compare the parts of the schema.
func CheckIntegrity(ctx context.Context, url string, newer bool) (i Integrity, err error) {
	cfg, err := parseConnURL(url)
	if err != nil {
		return i, err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return i, fmt.Errorf("ledger: connect: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	// Not in RuntimeParams: with target_session_attrs=read-write the driver would refuse such a connection.
	if _, err := conn.Exec(ctx, "SET default_transaction_read_only = on"); err != nil {
		return i, fmt.Errorf("ledger: read only: %w", err)
	}
	if !newer {
		shape, err := names(ctx, conn, "shape")
		if err != nil {
			return i, err
		}
		for part := range strings.Lines(shapeText) {
			if part = strings.TrimSpace(part); !slices.Contains(shape, part) {
				i.Missing = append(i.Missing, part)
			}
		}
	}
	if i.Invalid, err = names(ctx, conn, "invalid"); err != nil {
		return i, err
	}
	return i, i.readIndexes(ctx, conn)
}

// names returns the names that a query without arguments lists.
func names(ctx context.Context, conn *pgx.Conn, query string) ([]string, error) {
	rows, err := conn.Query(ctx, queries.Get(query), pgx.QueryExecModeExec)
	if err != nil {
		return nil, failed(query, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, failed(query, err)
	}
	return list, nil
}

// readIndexes has amcheck read every index.
func (i *Integrity) readIndexes(ctx context.Context, conn *pgx.Conn) error {
	var may bool
	var path string
	err := conn.QueryRow(ctx, queries.Get("use-amcheck"), pgx.QueryExecModeExec).Scan(&may, &path)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		i.Unread = "the extension amcheck is not there"
		return nil
	case err != nil:
		return failed("use-amcheck", err)
	case !may:
		i.Unread = "the role may not call amcheck"
		return nil
	}
	type index struct {
		oid  uint32
		name string
	}
	rows, err := conn.Query(ctx, queries.Get("indexes"), pgx.QueryExecModeExec)
	if err != nil {
		return failed("indexes", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (x index, err error) {
		err = row.Scan(&x.oid, &x.name)
		return x, err
	})
	if err != nil {
		return failed("indexes", err)
	}
	for _, x := range list {
		_, err := conn.Exec(ctx, queries.Get("check-index"), pgx.QueryExecModeExec, x.oid)
		var answer *pgconn.PgError
		switch {
		case errors.As(err, &answer) && answer.Code == undefinedTable: // A node has dropped a partition meanwhile.
		case errors.As(err, &answer) && strings.HasPrefix(answer.Code, "XX"): // The class of damage.
			i.Damaged = append(i.Damaged, "index "+x.name+": "+answer.Message)
		case err != nil:
			return failed("check-index", err)
		}
		i.Indexes++
	}
	return nil
}
