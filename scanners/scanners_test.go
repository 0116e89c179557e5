package scanners_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners"
)

func TestFold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		names string
		code  scanners.Code
		text  string
	}{
		{"Id,QTY,été", "", "id,qty,été"},
		{"id,Id", scanners.CodeColumn, `two columns are called "id" and "Id" (name it with AS)`},
		{"id,", scanners.CodeColumn, "column 2 has no name"},
	} {
		var columns []row.Column
		for name := range strings.SplitSeq(c.names, ",") {
			columns = append(columns, row.Column{Name: name})
		}
		err := scanners.Fold(columns)
		if c.code == "" {
			var names []string
			for _, column := range columns {
				names = append(names, column.Name)
			}
			if got := strings.Join(names, ","); err != nil || got != c.text {
				t.Errorf("%s became %s, %v", c.names, got, err)
			}
			continue
		}
		var e *scanners.Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.names, err)
		}
	}
	if err := scanners.Fold(nil); err == nil {
		t.Error("a statement without columns was taken")
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)
	args := map[string]any{"s": "x", "i": 1, "l": int64(2), "f": 1.5, "b": true, "t": now, "n": nil, "v": row.DecimalOf(150, 2), "bad": []string{}}
	values, err := scanners.Values(args, []string{"s", "i", "l", "f", "b", "t", "n", "v", "s"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range values {
		got = append(got, v.Kind().String()+" "+v.String())
	}
	if text := strings.Join(got, ", "); text != "text x, int 1, int 2, float 1.5, bool true, time 2026-06-01T08:00:00Z, null , decimal 1.50, text x" {
		t.Error(text)
	}
	for _, name := range []string{"missing", "bad"} {
		_, err := scanners.Values(args, []string{name})
		var e *scanners.Error
		if !errors.As(err, &e) || e.Code != scanners.CodeParam || !strings.Contains(err.Error(), "parameter :"+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("run: %w", &scanners.Error{Code: scanners.CodeTimeout, Transient: true, Err: context.DeadlineExceeded})
	if !scanners.IsTransient(err) || !errors.Is(err, context.DeadlineExceeded) || err.Error() != "run: probe_timeout: context deadline exceeded" {
		t.Error(err)
	}
	if err := scanners.Changed(errors.New("other columns")); scanners.IsTransient(err) || scanners.IsTransient(errors.New("x")) {
		t.Error("not everything is transient")
	}
}
