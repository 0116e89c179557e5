package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"tallyman/rules/row"
	"tallyman/scanners"
)

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
	conn, err := p.tx.begin(ctx, timeout)
	if err != nil {
		return scanners.Result{}, err
	}
	defer p.tx.end(ctx, conn)
	ctx, cancel := context.WithTimeout(ctx, timeout+deadlineGrace)
	defer cancel()

	if err := p.unchanged(ctx, conn.Conn().PgConn()); err != nil {
		return scanners.Result{}, err
	}
	reader := conn.Conn().PgConn().ExecParams(ctx, p.sql, args, p.paramOIDs, nil, p.formats)
	result, visitErr := p.read(reader, req.MaxRows, visit)
	if visitErr != nil || result.More {
		p.tx.stop(ctx, conn, cancel)
		_, _ = reader.Close()
		return result, visitErr
	}
	if _, err := reader.Close(); err != nil {
		if e, ok := errors.AsType[*tooLargeError](err); ok && e.column >= 0 && e.column < len(p.columns) {
			return result, p.source.limits.CellError(e.size, p.columns[e.column].Name)
		}
		return result, p.paramError(p.source.mapError(ctx, err, p.sql), err)
	}
	if conn.Conn().PgConn().TxStatus() != 'T' {
		_ = conn.Conn().Close(ctx)
		return result, &scanners.Error{Code: scanners.CodeReadOnly, Err: errors.New("the probe ended its own transaction")}
	}
	return result, nil
}

// cursor is what a scan reuses from row to row.
type cursor struct {
	row     *row.Row
	scratch []byte // texts that are not in the driver's buffer; never grown, so that they stay where they are
}

// read visits the rows until there are no more, one cannot be decoded, visit has enough, or maxRows is exceeded.
func (p *prepared) read(reader *pgconn.ResultReader, maxRows int, visit func(*row.Row) error) (scanners.Result, error) {
	var result scanners.Result
	c := cursor{row: row.New(p.columns), scratch: make([]byte, 0, uuidLength*len(p.columns))}
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

// sameFields tells whether the result is still what was prepared.
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
