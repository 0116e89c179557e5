package mysql

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners"
)

// fill inserts the rows.
func (s *stagedTable) fill(ctx context.Context) error {
	if len(s.Rows) == 0 {
		return nil
	}
	stmt, err := s.tx.conn.PrepareContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", quoted(s.name),
		strings.Join(s.insert, ", "), strings.TrimPrefix(strings.Repeat(", ?", len(s.insert)), ", ")))
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	for i, values := range s.Rows {
		args := make([]any, 0, len(s.insert))
		for j, v := range values {
			arg, err := s.tx.dialect.Bind(stored(v, s.kinds[j]))
			if err != nil {
				return s.Fault("", fmt.Errorf("row %d: column %s %w", i+1, s.insert[j], err))
			}
			args = append(args, arg)
		}
		for range s.numbered {
			args = append(args, int64(i+1))
		}
		if _, err := stmt.ExecContext(ctx, args...); err != nil {
			if answer := s.tx.dialect.Answer(err, scanners.CodeStage); answer != nil && !answer.Transient {
				return s.Fault("", fmt.Errorf("row %d: %w", i+1, answer.Err))
			}
			return err
		}
	}
	return nil
}

// stored is a text as the value of the column's kind that it is written for, where the server does not read it as that itself.
func stored(v row.Value, kind row.Kind) row.Value {
	if v.Kind() != row.Text {
		return v
	}
	switch kind {
	case row.Bool:
		if b, err := strconv.ParseBool(v.Text()); err == nil {
			return row.BoolOf(b)
		}
	case row.Time:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05Z07:00"} {
			if t, err := time.Parse(layout, v.Text()); err == nil {
				return row.TimeOf(t)
			}
		}
	default:
	}
	return v
}

// kindOfType is the kind of a column by the catalogue's name of its type.
func kindOfType(typ string) row.Kind {
	name, _, _ := strings.Cut(typ, "(")
	switch {
	case typ == "tinyint(1)", typ == "bit(1)":
		return row.Bool
	case name == "datetime", name == "timestamp":
		return row.Time
	default:
		return row.Null
	}
}
