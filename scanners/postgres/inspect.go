package postgres

import (
	"context"
	_ "embed"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"tallyman/scanners"
)

var (
	//go:embed tables.sql
	tablesSQL string
	//go:embed table.sql
	tableSQL string
	//go:embed keys.sql
	keysSQL string
)

// Tables returns what the user may select from, the catalogue left out.
func (s *Source) Tables(ctx context.Context) ([]string, error) {
	var names []string
	err := s.inspect(ctx, func(ctx context.Context, conn *pgconn.PgConn) error {
		found, err := s.query(ctx, conn, tablesSQL)
		for _, values := range found {
			names = append(names, values[0])
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// Table describes a table as a SELECT of all its columns would be described.
func (s *Source) Table(ctx context.Context, name string) (scanners.Table, error) {
	var table scanners.Table
	err := s.inspect(ctx, func(ctx context.Context, conn *pgconn.PgConn) (err error) {
		table, err = s.table(ctx, conn, name)
		return err
	})
	return table, err
}

func (s *Source) inspect(ctx context.Context, look func(context.Context, *pgconn.PgConn) error) error {
	conn, err := s.begin(ctx, s.timeout)
	if err != nil {
		return err
	}
	defer s.end(ctx, conn)
	ctx, cancel := context.WithTimeout(ctx, s.timeout+deadlineGrace)
	defer cancel()
	return look(ctx, conn.Conn().PgConn())
}

func (s *Source) table(ctx context.Context, conn *pgconn.PgConn, name string) (scanners.Table, error) {
	found, err := s.query(ctx, conn, tableSQL, name)
	if e, ok := errors.AsType[*scanners.Error](err); ok && !e.Transient {
		return scanners.Table{}, scanners.UnknownTable(name)
	}
	if err != nil {
		return scanners.Table{}, err
	}
	if len(found) == 0 {
		return scanners.Table{}, scanners.UnknownTable(name)
	}
	table := scanners.Table{Name: found[0][1]}
	described, err := conn.Prepare(ctx, "", "SELECT * FROM "+table.Name, nil)
	if err != nil {
		return scanners.Table{}, s.mapError(ctx, err, "")
	}
	p := &prepared{source: s}
	p.addFields(described.Fields)
	if err := p.ask(ctx, conn, described.Fields, true); err != nil {
		return scanners.Table{}, err
	}
	table.Columns = p.columns
	for i := range min(len(found), len(p.columns)) {
		table.Columns[i].Name = found[i][2]
	}
	keys, err := s.query(ctx, conn, keysSQL, found[0][0])
	addKeys(&table, keys)
	return table, err
}

// addKeys reads the columns of keys in the order of keys.sql.
func addKeys(table *scanners.Table, keys [][]string) {
	last := ""
	for _, key := range keys {
		index, primary, column := key[0], key[1] == "t", key[2]
		switch {
		case primary:
			table.PrimaryKey = append(table.PrimaryKey, column)
		case index != last:
			table.Unique = append(table.Unique, []string{column})
		default:
			n := len(table.Unique) - 1
			table.Unique[n] = append(table.Unique[n], column)
		}
		last = index
	}
}

var _ interface {
	scanners.Source
	scanners.Explainer
	scanners.Sessions
	scanners.Inspector
} = (*Source)(nil)
