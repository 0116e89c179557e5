package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
)

// chunk is how many rows one statement inserts: enough to make the cost of a statement small.
const chunk = 50

// list is the JSON array by which statements take a list.
func list[T int64 | string](values []T) string {
	if values == nil {
		return "[]"
	}
	b, err := json.Marshal(values)
	if err != nil { // numbers and strings always encode
		return "[]"
	}
	return string(b)
}

// insertRows runs the insert by name for n rows, several at a time. args appends the columns of row i.
func insertRows(ctx context.Context, tx *sql.Tx, name string, n int, args func(dst []any, i int) []any) error {
	if n == 0 {
		return nil
	}
	var many *sql.Stmt
	var buf []any
	for start := 0; start < n; start += chunk {
		size := min(chunk, n-start)
		buf = buf[:0]
		for i := range size {
			buf = args(buf, start+i)
		}
		var err error
		if size == chunk {
			if many == nil {
				if many, err = tx.PrepareContext(ctx, repeated(name, chunk)); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				defer func() { _ = many.Close() }() // the transaction closes what it prepared
			}
			_, err = many.ExecContext(ctx, buf...)
		} else {
			_, err = tx.ExecContext(ctx, repeated(name, size), buf...)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// repeated is the insert by name for n rows.
func repeated(name string, n int) string {
	query := queries.Get(name)
	_, row, _ := strings.Cut(query, "VALUES")
	return query + strings.Repeat(","+row, n-1)
}
