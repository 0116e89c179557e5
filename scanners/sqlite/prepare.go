package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"modernc.org/sqlite"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// prepared is a statement as SQLite has described it.
type prepared struct {
	source  *Source
	on      connProvider
	sql     string
	order   []string // the names of the parameters, in order
	columns []row.Column
	names   []string                // the columns' names as SQLite spells them
	times   []timeColumn            // columns of the result that are times in a table
	beside  map[string][]timeColumn // by parameter: the columns of times that the statement compares it with
}

// connProvider gives a statement its connection: the Source gives a new connection, a session gives its own connection.
type connProvider interface {
	connect(ctx context.Context) (*connection, error)
}

// Prepare lets SQLite compile the statement, without running it.
func (s *Source) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.PreparedProbe, error) {
	p, err := s.prepare(ctx, s, stmt)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (s *Source) prepare(ctx context.Context, on connProvider, stmt *probe.Statement) (*prepared, error) {
	if err := s.refuseClock(stmt); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	conn, err := on.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.close()

	p := &prepared{source: s, on: on}
	p.sql, p.order = stmt.Render(probe.Question)
	d := &describer{ctx: ctx, conn: conn, trustNotNull: !stmt.NullExtended}
	if d.trustNotNull {
		if err := d.distrustViews(stmt.Text); err != nil {
			return nil, err
		}
	}
	conn.refused = nil
	err = p.describe(d)
	if refused := s.functions.Refuse(stmt, conn.refused); refused != nil {
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	if err := scanners.Fold(p.columns); err != nil {
		return nil, err
	}
	p.compare(d, stmt)
	return p, nil
}

// compare finds the columns of times that parameters are compared with, including columns that the statement does not
// return. Columns that SQLite does not describe are left out.
func (p *prepared) compare(d *describer, stmt *probe.Statement) {
	p.beside = map[string][]timeColumn{}
	for _, c := range stmt.Comparisons() {
		for _, question := range c.Questions {
			asked, faults := probe.Parse(question)
			if len(faults) > 0 {
				continue
			}
			sql, _ := asked.Render(probe.Question)
			infos, err := d.columns(sql)
			if err != nil || len(infos) != 1 {
				continue
			}
			if infos[0].OriginName != "" && declaredKind(infos[0].DeclType) == row.Time && !c.Declared {
				column := newTimeColumn(infos[0])
				column.name = c.Column
				p.beside[c.Param] = append(p.beside[c.Param], column)
			}
			break
		}
	}
}

// Columns returns the columns of the result.
func (p *prepared) Columns() []row.Column { return p.columns }

func (p *prepared) describe(d *describer) error {
	infos, err := d.columns(p.sql)
	if err != nil {
		return err
	}
	list := selectList(p.sql, len(infos))
	var faults scanners.ColumnFaults
	for i, info := range infos {
		c := row.Column{Name: info.Name, DBType: strings.ToLower(info.DeclType), Nullable: true}
		c.Kind = declaredKind(info.DeclType)
		if c.Kind == row.Null && info.DeclType == "" {
			c.Kind = d.inferred(p.sql, list, i)
		}
		if c.Kind == row.Null {
			faults.Add(unknownKind(info))
			continue
		}
		if c.DBType == "" {
			c.DBType = "expression"
		}
		if c.Nullable, err = d.nullable(info); err != nil {
			return err
		}
		p.columns = append(p.columns, c)
		p.names = append(p.names, info.Name)
		if c.Kind == row.Time && info.OriginName != "" {
			p.times = append(p.times, newTimeColumn(info))
		}
	}
	return faults.Err()
}

func unknownKind(info sqlite.ColumnInfo) error {
	what := "SQLite does not tell the type of this expression"
	if info.DeclType != "" {
		what = fmt.Sprintf("the declared type %s says nothing about its values", info.DeclType)
	}
	return errorf(scanners.CodeColumn, false, "write CAST(… AS INTEGER), REAL, NUMERIC or TEXT, or date(…) or datetime(…)", "column %s: %s", info.Name, what)
}

// describer asks SQLite about statements and tables.
type describer struct {
	ctx          context.Context //nolint:containedctx // lives for one Prepare
	conn         *connection
	trustNotNull bool // values of NOT NULL columns cannot become NULL in this statement
}

// columns compiles the SQL and returns the columns of its result.
func (d *describer) columns(sql string) ([]sqlite.ColumnInfo, error) {
	var infos []sqlite.ColumnInfo
	err := d.conn.sql.Raw(func(driverConn any) (err error) {
		c, ok := driverConn.(interface {
			ColumnInfo(query string) ([]sqlite.ColumnInfo, error)
		})
		if !ok {
			return errDriver
		}
		infos, err = c.ColumnInfo(sql)
		return err
	})
	if err != nil {
		return nil, mapError(d.ctx, err, scanners.CodeStatement)
	}
	return infos, nil
}

// distrustViews stops trusting NOT NULL if the statement names a view, because the view may contain an outer join.
func (d *describer) distrustViews(sql string) error {
	views, err := d.conn.views(d.ctx)
	if err != nil {
		return err
	}
	tokens, _ := probe.Lex(sql)
	if slices.ContainsFunc(tokens, func(t probe.Token) bool { return views[strings.ToLower(t.Name())] }) {
		d.trustNotNull = false
	}
	return nil
}

// nullable tells whether the column may be NULL.
func (d *describer) nullable(info sqlite.ColumnInfo) (bool, error) {
	if !d.trustNotNull || info.OriginName == "" {
		return true, nil
	}
	var notNull bool
	err := d.conn.sql.QueryRowContext(d.ctx,
		`SELECT count(*) FROM pragma_table_info(?, ?) WHERE name = ? COLLATE NOCASE AND ("notnull" OR pk > 0 AND upper(type) = 'INTEGER'
		   AND NOT EXISTS (SELECT 1 FROM pragma_table_info(?, ?) WHERE pk > 1))`,
		info.TableName, info.DatabaseName, info.OriginName, info.TableName, info.DatabaseName).Scan(&notNull)
	if err != nil {
		return true, mapError(d.ctx, err, scanners.CodeFailed)
	}
	return !notNull, nil
}

// Scan runs the statement, and converts its rows as SQLite finds them.
func (p *prepared) Scan(ctx context.Context, req scanners.Request, visit func(*row.Row) error) (scanners.Result, error) {
	values, err := scanners.Values(req.Args, p.order)
	if err != nil {
		return scanners.Result{}, err
	}
	timeout := req.Timeout
	if timeout <= 0 {
		timeout = p.source.timeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := p.on.connect(ctx)
	if err != nil {
		return scanners.Result{}, err
	}
	defer conn.close()
	defer conn.interruptible(ctx)()

	args, err := p.bind(ctx, conn, values)
	if err != nil {
		return scanners.Result{}, err
	}
	most, err := conn.bound(p.source.limits, len(p.columns))
	if err != nil {
		return scanners.Result{}, mapError(ctx, err, scanners.CodeFailed)
	}
	rows, err := conn.sql.QueryContext(ctx, p.sql, args...)
	if err != nil {
		return scanners.Result{}, p.tooLarge(ctx, err, most)
	}
	defer func() { _ = rows.Close() }()
	result, visitErr := p.read(ctx, rows, req.MaxRows, visit)
	if visitErr != nil || result.More {
		return result, visitErr
	}
	if err := rows.Err(); err != nil {
		return result, p.tooLarge(ctx, err, most)
	}
	return result, nil
}

// tooLarge is mapError for errors of a scan. SQLite does not tell which value is too long.
func (p *prepared) tooLarge(ctx context.Context, err error, most int) *scanners.Error {
	mapped := mapError(ctx, err, scanners.CodeFailed)
	if mapped.Code != scanners.CodeTooLarge {
		return mapped
	}
	if limits := p.source.limits; most < limits.Cell {
		mapped = scanners.Limits{Cell: most}.CellError(0)
		mapped.Hint = fmt.Sprintf("the limit is this low because the result has %d columns: select fewer, or raise the source's max_row_bytes", len(p.columns))
	} else {
		mapped = limits.CellError(0)
	}
	return mapped
}

func (p *prepared) read(ctx context.Context, rows *sql.Rows, maxRows int, visit func(*row.Row) error) (scanners.Result, error) {
	var result scanners.Result
	names, err := rows.Columns()
	if err != nil {
		return result, mapError(ctx, err, scanners.CodeFailed)
	}
	if !slices.Equal(names, p.names) {
		return result, scanners.Changed(errors.New("the columns of the result have changed"))
	}
	r := row.New(p.columns)
	values := make([]any, len(names))
	dest := make([]any, len(names))
	for i := range values {
		dest[i] = &values[i]
	}
	for rows.Next() {
		if maxRows > 0 && result.Rows == maxRows {
			result.More = true
			return result, nil
		}
		if err := rows.Scan(dest...); err != nil {
			return result, mapError(ctx, err, scanners.CodeFailed)
		}
		if err := p.convert(r, values); err != nil {
			return result, err
		}
		result.Rows++
		if err := visit(r); err != nil {
			return result, err
		}
	}
	return result, nil
}

func (p *prepared) convert(r *row.Row, values []any) error {
	total := 0
	for i, src := range values {
		c := &p.columns[i]
		size, err := p.source.limits.CheckValue(c.Name, src, total)
		if err != nil {
			err.Err = fmt.Errorf("%w%s", err.Err, where(r, i))
			return err
		}
		total += size
		if src == nil {
			if !c.Nullable {
				return scanners.Changed(fmt.Errorf("column %s was NOT NULL and holds NULL", c.Name))
			}
			r.Values[i] = row.Value{}
			continue
		}
		if !convert(&r.Values[i], src, c.Kind, p.source.location) {
			return errorf(scanners.CodeFailed, false, "correct the data, or CAST the column to the type of its values",
				"column %s holds %s, which is no %s%s", c.Name, shown(src), c.Kind, where(r, i))
		}
	}
	return nil
}

// where names the row by its first column, if the first column was read already.
func where(r *row.Row, column int) string {
	if column == 0 {
		return ""
	}
	return fmt.Sprintf(" (where %s is %s)", r.Columns[0].Name, r.Values[0])
}
