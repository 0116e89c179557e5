package preview

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/rules/row"
)

// columnMask replaces the values of some columns by masks. Equal values get the same mask in all masked columns of
// their kind, so that rows that belong together still belong together. Masks of numbers and times keep the order of the
// values. A mask lies on the same side of zero, or of the due time of the run, as its value. So most conditions judge
// both alike. NULL stays NULL.
type columnMask struct {
	columns []bool               // Tells whether the column at that position is masked.
	values  map[string]row.Value // The masks, keyed by the identity of the original value.
}

// newMask makes the masks for the values of the named columns.
func newMask(names []string, columns []row.Column, rows []*row.Row, due time.Time) (*columnMask, error) {
	m := &columnMask{columns: make([]bool, len(columns)), values: map[string]row.Value{}}
	for _, name := range names {
		i := row.Index(columns, strings.ToLower(strings.TrimSpace(name)))
		switch {
		case i < 0:
			return nil, fmt.Errorf("the probe returns no column %q to mask", name)
		case columns[i].Kind == row.Bool:
			return nil, fmt.Errorf("the column %q is true or false and cannot be masked", name)
		}
		m.columns[i] = true
	}
	kinds := map[row.Kind][]row.Value{}
	seen := map[string]bool{}
	label := map[string]string{} // The column in which a value came first, keyed by identity.
	for _, r := range rows {
		for i, v := range r.Values {
			if id := identity(v); m.columns[i] && !v.IsNull() && !seen[id] {
				seen[id], label[id] = true, columns[i].Name
				kinds[v.Kind()] = append(kinds[v.Kind()], v)
			}
		}
	}
	for kind, values := range kinds {
		slices.SortStableFunc(values, func(a, b row.Value) int {
			c, err := row.Compare(a, b)
			if err != nil {
				return 0 // Not expected: values of the same kind can be compared.
			}
			return c
		})
		m.assign(kind, values, seen, label, due)
	}
	return m, nil
}

// identity returns the same text for values that count as equal in a key.
func identity(v row.Value) string { return v.Kind().String() + " " + string(v.AppendKey(nil)) }

// assign gives each of the ascending values a mask. No mask equals a hidden value.
func (m *columnMask) assign(kind row.Kind, values []row.Value, taken map[string]bool, label map[string]string, due time.Time) {
	zero := row.Value{}
	ordered := true
	switch kind {
	case row.Int, row.Float, row.Decimal:
		zero = row.IntOf(0)
	case row.Duration:
		zero = row.DurationOf(0)
	case row.Time:
		zero = row.TimeOf(due)
	case row.Date:
		zero = row.DateOf(due.UTC())
	default:
		ordered = false
	}
	next := map[string]int{} // Texts are numbered by column, all other values together.
	give := func(v row.Value, sign int) {
		column := ""
		if !ordered {
			column = label[identity(v)]
		}
		for {
			next[column]++
			if c := candidate(kind, sign*next[column], column, due); !taken[identity(c)] {
				m.values[identity(v)] = c
				return
			}
		}
	}
	if !ordered {
		for _, v := range values {
			give(v, 1)
		}
		return
	}
	first := 0 // The index of the first value above zero.
	for first < len(values) && !above(values[first], zero) {
		first++
	}
	for i := first; i < len(values); i++ {
		give(values[i], 1)
	}
	clear(next)
	for i := first - 1; i >= 0; i-- {
		if row.Equal(values[i], zero) {
			m.values[identity(values[i])] = values[i] // Zero reveals nothing, so it stays.
			continue
		}
		give(values[i], -1)
	}
}

func above(v, zero row.Value) bool {
	c, err := row.Compare(v, zero)
	return err == nil && c > 0
}

// candidate returns the n-th mask of a kind.
func candidate(kind row.Kind, n int, column string, due time.Time) row.Value {
	switch kind {
	case row.Int:
		return row.IntOf(int64(n))
	case row.Float:
		return row.FloatOf(float64(n))
	case row.Decimal:
		return row.DecimalOf(int64(n), 0)
	case row.Duration:
		return row.DurationOf(time.Duration(n) * time.Minute)
	case row.Time:
		return row.TimeOf(due.Add(time.Duration(n) * time.Minute))
	case row.Date:
		return row.DateOf(due.UTC().AddDate(0, 0, n))
	case row.JSON:
		return row.JSONOf(strconv.Quote(column + "-" + strconv.Itoa(n)))
	case row.Bytes:
		return row.BytesOf(column + "-" + strconv.Itoa(n))
	default:
		return row.TextOf(strings.TrimLeft(column, "_") + "-" + strconv.Itoa(n))
	}
}

// row returns the row with its values masked.
func (m *columnMask) row(r *row.Row) *row.Row {
	masked := r.Clone()
	for i, v := range masked.Values {
		if m.columns[i] && !v.IsNull() {
			masked.Values[i] = m.values[identity(v)]
		}
	}
	return masked
}

// leaks returns an error where an unmasked column holds a hidden value.
func (m *columnMask) leaks(rows []*row.Row) error {
	secrets := map[string]string{} // Keyed by the text of the value; the value is its column.
	for _, r := range rows {
		for i, v := range r.Values {
			if m.columns[i] && !v.IsNull() && !row.Equal(v, m.values[identity(v)]) {
				secrets[v.String()] = r.Columns[i].Name
			}
		}
	}
	for _, r := range rows {
		for i, v := range r.Values {
			if m.columns[i] || v.IsNull() {
				continue
			}
			for secret, column := range secrets {
				if holds(v, secret) {
					return fmt.Errorf("a value of %s also stands in the column %s: mask %[2]s as well", column, r.Columns[i].Name)
				}
			}
		}
	}
	return nil
}

// holds tells whether the value shows the secret. holds ignores matches of short texts inside other texts, and of short
// numbers, because these happen by chance.
func holds(v row.Value, secret string) bool {
	const shortText, shortNumber = 3, 4
	text := v.String()
	if v.Kind() == row.Text || v.Kind() == row.JSON {
		return text == secret || len(secret) >= shortText && strings.Contains(text, secret)
	}
	return text == secret && len(secret) >= shortNumber
}
