package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

//go:embed columns.sql
var columnsSQL string

// prepared is a statement as the database has described it.
type prepared struct {
	source    *Source
	tx        transaction // the transaction in which the statement runs
	sql       string
	order     []string // the names of parameters $1, $2 …
	paramOIDs []uint32
	columns   []row.Column
	typeOIDs  []uint32
	decoders  []decoder
	formats   []int16 // of the result: 1 = binary, 0 = text

	plain   bool         // the statement calls only PostgreSQL's own functions
	calls   []string     // the arguments of state.sql
	state   string       // the state of the objects that the statement uses, by state.sql
	watched atomic.Int64 // when the state was last checked, in ns of Unix time
}

// Prepare lets the database parse the statement, without running it.
func (s *Source) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.PreparedProbe, error) {
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
		c := row.Column{Name: f.Name, Kind: t.kind, Nullable: true}
		if f.DataTypeOID == pgtype.TimestampOID {
			c.Zone = p.source.location
		}
		p.columns = append(p.columns, c)
		p.typeOIDs = append(p.typeOIDs, f.DataTypeOID)
		p.decoders = append(p.decoders, t.decode)
		p.formats = append(p.formats, t.format)
	}
}

// ask adds the facts that only the catalogue knows: the names of types, and NOT NULL if trustNotNull is set.
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

// Scan runs the statement and decodes its rows as they arrive.
func (p *prepared) Scan(ctx context.Context, req scanners.Request, visit func(*row.Row) error) (scanners.Result, error) {
	args, err := p.encode(req.Args)
	if err != nil {
		return scanners.Result{}, err
	}
	timeout := req.Timeout
	if timeout <= 0 {
		timeout = p.source.timeout
	}
	if err := p.unchanged(ctx, timeout); err != nil {
		return scanners.Result{}, err
	}
	return p.tx.scan(ctx, &scanStatement{
		timeout: timeout, plain: p.plain,
		add: func(to *pgconn.Pipeline) { to.SendQueryParams(p.sql, args, p.paramOIDs, nil, p.formats) },
		read: func(ctx context.Context, from *pgconn.Pipeline, stop func()) (scanners.Result, error) {
			return p.readAll(ctx, from, stop, req.MaxRows, visit)
		},
	})
}

// readAll visits the rows of the statement, and reads the pipeline to its end.
func (p *prepared) readAll(ctx context.Context, from *pgconn.Pipeline, stop func(), maxRows int, visit func(*row.Row) error) (scanners.Result, error) {
	var result scanners.Result
	answer, err := from.GetResults()
	if reader, ok := answer.(*pgconn.ResultReader); ok {
		var visitErr error
		result, visitErr = p.read(reader, maxRows, visit)
		if visitErr != nil || result.More {
			stop()
			_, _ = reader.Close()
			_ = from.Close()
			return result, visitErr
		}
		_, err = reader.Close()
	}
	if closed := from.Close(); err == nil {
		err = closed
	}
	if err == nil {
		return result, nil
	}
	if e, ok := errors.AsType[*tooLargeError](err); ok && e.column >= 0 && e.column < len(p.columns) {
		return result, p.source.limits.CellError(e.size, p.columns[e.column].Name)
	}
	return result, p.paramError(p.source.mapError(ctx, err, p.sql), err)
}

// cursor is the state that a scan reuses from row to row.
type cursor struct {
	row      *row.Row
	location *time.Location // the zone of timestamps without zone
	// texts that are not in the driver's buffer; scratch never grows, because texts of the row point into it
	scratch []byte
}

// read visits the rows until the last one, the first error, or maxRows. read stops when visit returns an error.
func (p *prepared) read(reader *pgconn.ResultReader, maxRows int, visit func(*row.Row) error) (scanners.Result, error) {
	var result scanners.Result
	c := cursor{row: row.New(p.columns), location: p.source.location, scratch: make([]byte, 0, uuidLength*len(p.columns))}
	for reader.NextRow() {
		if result.Rows == 0 {
			if err := p.sameFields(reader.FieldDescriptions()); err != nil {
				return result, err
			}
		}
		if maxRows > 0 && result.Rows == maxRows {
			result.More = true
			return result, nil
		}
		if err := p.decode(&c, reader.Values()); err != nil {
			return result, err
		}
		result.Rows++
		if err := visit(c.row); err != nil {
			return result, err
		}
	}
	return result, nil
}

// sameFields returns an error if the result differs from the prepared one.
func (p *prepared) sameFields(fields []pgconn.FieldDescription) error {
	same := len(fields) == len(p.typeOIDs)
	for i := 0; same && i < len(fields); i++ {
		same = fields[i].DataTypeOID == p.typeOIDs[i] && strings.EqualFold(fields[i].Name, p.columns[i].Name)
	}
	if !same {
		return scanners.Changed(errors.New("the columns of the result have changed"))
	}
	return nil
}

func (p *prepared) decode(c *cursor, values [][]byte) error {
	c.scratch = c.scratch[:0]
	limits, total := p.source.limits, 0
	for i, src := range values {
		if len(src) > limits.Cell || total+len(src) > limits.Row {
			return limits.Check(p.columns[i].Name, len(src), total)
		}
		total += len(src)
		if src == nil {
			if !p.columns[i].Nullable {
				return scanners.Changed(fmt.Errorf("column %s was NOT NULL and holds NULL", p.columns[i].Name))
			}
			c.row.Values[i] = row.Value{}
			continue
		}
		if err := p.decoders[i](c, &c.row.Values[i], src); err != nil {
			return &scanners.Error{Code: scanners.CodeFailed, Err: fmt.Errorf("column %s: %w", p.columns[i].Name, err)}
		}
	}
	return nil
}

//go:embed state.sql
var stateSQL string

// watchEvery is how often a running statement is checked for replaced views and functions.
const watchEvery = time.Minute

// watch stores the state of the objects that the statement uses. watch reads the state in the transaction of the
// resolution, whose locks keep views from changing.
func (p *prepared) watch(ctx context.Context, conn *pgconn.PgConn, r *resolution) error {
	p.plain = !r.leaves && len(r.functions) == 0
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

// unchanged checks, at most once a minute, that the statement still uses the objects that were judged. If a view or
// function was replaced, the statement must be prepared again.
func (p *prepared) unchanged(ctx context.Context, timeout time.Duration) error {
	now := time.Now().UnixNano()
	if now-p.watched.Load() < int64(watchEvery) {
		return nil
	}
	conn, err := p.tx.begin(ctx, timeout)
	if err != nil {
		return err
	}
	defer p.tx.end(ctx, conn)
	ctx, cancel := context.WithTimeout(ctx, timeout+deadlineGrace)
	defer cancel()
	state, err := p.look(ctx, conn.Conn().PgConn())
	if err != nil {
		return err
	}
	if state != p.state {
		return scanners.Changed(errors.New("a view, a policy or a function that the probe uses was replaced"))
	}
	p.watched.Store(now)
	return nil
}
