package engine_test

import (
	"context"
	"testing"
	"time"

	"tallyman/rules"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// TestWhyLooksAtTheRowsOfTheScope: the probe of a rule with split_by returns the rows of other scopes too, with the same
// keys.
func TestWhyLooksAtTheRowsOfTheScope(t *testing.T) {
	for name, c := range map[string]struct {
		when, key string
		edit      func(r *rules.Rule)
		want      map[string]string // What holds the finding back, keyed by scope.
	}{
		"a row": {"qty < 0", "A-01", nil, map[string]string{"a": "no_match", "b": "repeat", "c": "absent"}},
		"a result": {"row_count > 1", "[]", func(r *rules.Rule) {
			r.Per, r.Key, r.Notice.Priority, r.Notice.Fields = rules.PerResult, nil, "3", map[string]string{"bin": `"all"`}
			r.Notice.Title, r.Notice.Body = map[string]string{"": "{{ .row_count }} rows"}, nil
		}, map[string]string{"a": "no_match", "b": "repeat", "c": "no_match"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.split("a", "b", "c")
				for _, r := range w.rules {
					if r.When = c.when; c.edit != nil {
						c.edit(r)
					}
				}
				w.source.Rows = func(context.Context, scanners.Request) ([][]row.Value, error) {
					return [][]row.Value{
						append(stock("A-01", 7), row.TextOf("a")), append(stock("A-01", -3), row.TextOf("b")), append(stock("A-02", 3), row.TextOf("b")),
					}, nil
				}
				n := w.start(w.options("n"))
				pass(m + 30*time.Second)
				for scope, want := range c.want {
					y, err := n.Why(w.t.Context(), "negative-bin-stock", &scope, c.key, true)
					if err != nil {
						t.Fatal(err)
					}
					if heldBy(y) != want || y.Look.Row != nil && y.Look.Row.Values[2].String() != scope {
						t.Errorf("scope %s: %+v, held %v, want %s", scope, y.Look, y.Reasons, want)
					}
				}
			})
		})
	}
}
