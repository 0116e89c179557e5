package sqldb

import (
	"context"
	"fmt"
	"strings"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// prepared is a statement as the database described it.
type prepared struct {
	source  *Source
	session *Session // nil: a scan has a transaction of its own
	sql     string
	order   []string // parameter n+1
	columns []row.Column
	convert []Convert
	large   []string // names of the columns whose values may be larger than the source takes
	small   int      // bytes that the values of all others may have together
}

// Prepare has the database look at the statement, without running it.
func (s *Source) Prepare(ctx context.Context, stmt *probe.Statement) (scanners.Prepared, error) {
	h, err := s.begin(ctx, s.config.StatementTimeout, s.config.Dialect.Begin)
	if err != nil {
		return nil, err
	}
	defer h.end(ctx)
	return h.prepare(ctx, stmt)
}

// prepare does so on a connection that is held.
func (h *held) prepare(ctx context.Context, stmt *probe.Statement) (*prepared, error) {
	s := h.source
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, s.config.StatementTimeout+s.config.Grace)
	defer cancel()
	p := &prepared{source: s}
	p.sql, p.order = stmt.Render(s.config.Dialect.Style())
	columns, err := h.tx.Describe(ctx, stmt, p.sql)
	if err != nil {
		if ctx.Err() != nil {
			h.cut(outer)
		}
		return nil, s.mapError(ctx, err, scanners.CodeStatement)
	}
	for _, c := range columns {
		p.columns = append(p.columns, c.Column)
		p.convert = append(p.convert, c.Convert)
	}
	if err := scanners.Fold(p.columns); err != nil {
		return nil, err
	}
	for i, c := range columns {
		if c.Most == 0 || c.Most > s.config.Limits.Cell {
			p.large = append(p.large, p.columns[i].Name)
		} else {
			p.small += c.Most
		}
	}
	return p, nil
}

// Columns returns the columns of the result.
func (p *prepared) Columns() []row.Column { return p.columns }

// Bind returns the arguments in the order and the form in which the driver takes them.
func Bind(d Dialect, args map[string]any, order []string) ([]any, error) {
	values, err := scanners.Values(args, order)
	if err != nil {
		return nil, err
	}
	bound := make([]any, len(values))
	for i, v := range values {
		if bound[i], err = d.Bind(v); err != nil {
			return nil, scanners.ParamError(order[i], err, "")
		}
	}
	return bound, nil
}

// sameNames tells whether the result still has the columns that were prepared.
func (p *prepared) sameNames(names []string) error {
	same := len(names) == len(p.columns)
	for i := 0; same && i < len(names); i++ {
		same = strings.EqualFold(names[i], p.columns[i].Name)
	}
	if !same {
		return scanners.Changed(fmt.Errorf("the columns of the result have changed"))
	}
	return nil
}
