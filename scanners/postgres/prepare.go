package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

//go:embed columns.sql
var columnsSQL string

// prepared is a statement as the database described it.
type prepared struct {
	source    *Source
	tx        transaction // that it runs in
	sql       string
	order     []string // parameter $n+1
	paramOIDs []uint32
	columns   []row.Column
	typeOIDs  []uint32
	decoders  []decoder
	formats   []int16 // of the result: 1 = binary, 0 = text

	calls   []string     // what state.sql is asked with
	state   string       // of what the statement was resolved to
	watched atomic.Int64 // when the state was the same last, in ns of Unix time
}

// Prepare has the database parse the statement, without running it.
func (s *Source) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.Prepared, error) {
	conn, err := s.begin(ctx, s.timeout)
	if err != nil {
		return nil, err
	}
	defer s.end(ctx, conn)
	ctx, cancel := context.WithTimeout(ctx, s.timeout+deadlineGrace)
	defer cancel()
	p, err := s.prepare(ctx, conn.Conn().PgConn(), stmt)
	if err != nil {
		return nil, err
	}
	p.tx = s
	return p, nil
}

// prepare describes the statement in the transaction of the connection.
func (s *Source) prepare(ctx context.Context, conn *pgconn.PgConn, stmt *probe.Statement) (*prepared, error) {
	p := &prepared{source: s}
	p.sql, p.order = stmt.Render(probe.Dollar)
	described, calls, err := s.describe(ctx, conn, stmt, p.sql)
	if err != nil {
		return nil, err
	}
	if len(described.ParamOIDs) != len(p.order) {
		return nil, &scanners.Error{
			Code: scanners.CodeStatement,
			Err:  fmt.Errorf("the statement has %d parameters, the database sees %d", len(p.order), len(described.ParamOIDs)),
		}
	}
	p.paramOIDs = described.ParamOIDs
	p.addFields(described.Fields)
	if err := p.ask(ctx, conn, described.Fields, !stmt.NullExtended); err != nil {
		return nil, err
	}
	if err := scanners.Fold(p.columns); err != nil {
		return nil, err
	}
	return p, p.watch(ctx, conn, calls)
}

// Columns returns the columns of the result.
func (p *prepared) Columns() []row.Column { return p.columns }

func (p *prepared) addFields(fields []pgconn.FieldDescription) {
	for _, f := range fields {
		t := typeOf(f.DataTypeOID)
		p.columns = append(p.columns, row.Column{Name: f.Name, Kind: t.kind, Nullable: true})
		p.typeOIDs = append(p.typeOIDs, f.DataTypeOID)
		p.decoders = append(p.decoders, t.decode)
		p.formats = append(p.formats, t.format)
	}
}

// ask adds what only the catalogue knows: the names of types, and NOT NULL where trustNotNull.
func (p *prepared) ask(ctx context.Context, conn *pgconn.PgConn, fields []pgconn.FieldDescription, trustNotNull bool) error {
	var types, modifiers, tables, numbers []string
	for _, f := range fields {
		types = append(types, strconv.FormatUint(uint64(f.DataTypeOID), 10))
		modifiers = append(modifiers, strconv.Itoa(int(f.TypeModifier)))
		tables = append(tables, strconv.FormatUint(uint64(f.TableOID), 10))
		numbers = append(numbers, strconv.Itoa(int(f.TableAttributeNumber)))
	}
	var args []string
	for _, list := range [][]string{types, modifiers, tables, numbers} {
		args = append(args, "{"+strings.Join(list, ",")+"}")
	}
	found, err := p.source.query(ctx, conn, columnsSQL, args...)
	if err != nil {
		return err
	}
	if len(found) != len(fields) {
		return &scanners.Error{Code: scanners.CodeFailed, Err: errors.New("the catalogue does not describe the columns")}
	}
	for i, values := range found {
		p.columns[i].DBType = values[0]
		p.columns[i].Nullable = !trustNotNull || values[1] != "t"
	}
	return nil
}
