package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// Scan runs the statement and converts its rows as SQLite finds them.
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

// tooLarge is mapError for what a scan may say: SQLite does not tell which value it was that is too long.
func (p *prepared) tooLarge(ctx context.Context, err error, most int) *scanners.Error {
	mapped := mapError(ctx, err, scanners.CodeFailed)
	if mapped.Code != scanners.CodeTooLarge {
		return mapped
	}
	if limits := p.source.limits; most < limits.Cell {
		mapped = scanners.Limits{Cell: most}.CellError(0)
		mapped.Hint = fmt.Sprintf("it is so few because the result has %d columns: select fewer, or raise the source's max_row_bytes", len(p.columns))
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
		if !convert(&r.Values[i], src, c.Kind) {
			return errorf(scanners.CodeFailed, false, "correct the data, or CAST the column to what it holds",
				"column %s holds %s, which is no %s%s", c.Name, shown(src), c.Kind, where(r, i))
		}
	}
	return nil
}

// where tells which row it is, by its first column where that was read already.
func where(r *row.Row, column int) string {
	if column == 0 {
		return ""
	}
	return fmt.Sprintf(" (where %s is %s)", r.Columns[0].Name, r.Values[0])
}
