package scannertest

import (
	"fmt"
	"sync"
	"testing"

	"tallyman/rules/row"
	"tallyman/scanners"
)

func readOnly(t *testing.T, d Dialect) {
	t.Helper()
	db, _ := sample(t, d)
	if d.WriterSetup != "" {
		db.Exec(t, d.WriterSetup)
	}
	s := db.Open(t, 1)
	for _, sql := range d.Writers {
		p, err := s.Prepare(t.Context(), Parse(t, sql))
		if err == nil {
			_, err = p.Scan(t.Context(), scanners.Request{}, ignore)
		}
		wantError(t, sql, err, scanners.CodeReadOnly, false)
		healthy(t, s)
	}
}

// session lets each leak run on the only connection, and looks at the session after it.
func session(t *testing.T, d Dialect) {
	t.Helper()
	db, _ := sample(t, d)
	if d.LeakSetup != "" {
		db.Exec(t, d.LeakSetup)
	}
	s := db.Open(t, 1)
	before := One(t, s, d.State, nil)
	for _, sql := range d.Leaks {
		p := Prepare(t, s, sql)
		if _, err := p.Scan(t.Context(), scanners.Request{}, ignore); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		if after := One(t, s, d.State, nil); after != before {
			t.Errorf("%s: the session was %s and is %s", sql, before, after)
		}
	}
}

// concurrent uses one Prepared from more goroutines than there are connections.
func concurrent(t *testing.T, d Dialect) {
	t.Helper()
	_, s := sample(t, d)
	p := Prepare(t, s, fmt.Sprintf(d.Series, 400)+" -- :unused")
	filtered := Prepare(t, s, "SELECT id, c_text FROM sample WHERE id = :x")
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 10 {
				var sum int64
				result, err := p.Scan(t.Context(), scanners.Request{}, func(r *row.Row) error {
					sum += r.Values[0].Int()
					return nil
				})
				if err != nil || result.Rows != 400 || sum != 401*200 {
					t.Errorf("worker %d: %+v, sum %d, %v", worker, result, sum, err)
					return
				}
				id := int64(1 + (worker+i)%3)
				_, err = filtered.Scan(t.Context(), scanners.Request{Args: map[string]any{"x": id}}, func(r *row.Row) error {
					if got := r.Values[0].Int(); got != id {
						return fmt.Errorf("asked for %d, got %d", id, got)
					}
					return nil
				})
				if err != nil {
					t.Errorf("worker %d: %v", worker, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
