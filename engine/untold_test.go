package engine_test

import (
	"strings"
	"testing"

	"tallyman/internal/ledger"
	"tallyman/rules/row"
)

// A row that cannot be told is shown, and holds up neither the others nor the lane.
func TestRowsThatCannotBeTold(t *testing.T) {
	columns := []row.Column{
		{Name: "bin_code", Kind: row.Text}, {Name: "qty", Kind: row.Int}, {Name: "wh", Kind: row.JSON, Nullable: true}, {Name: "place", Kind: row.Text, Nullable: true},
	}
	text := func(s string) row.Value { return row.TextOf(s) }
	for name, c := range map[string]struct {
		wh, place row.Value
		want      string
	}{
		"a warehouse with a space":      {text("W 1"), text("P"), `warehouse: "W 1" cannot name a warehouse`},
		"an empty one":                  {text(""), text("P"), `warehouse: "" cannot name a warehouse`},
		"NULL":                          {row.Value{}, text("P"), `warehouse: "" cannot name a warehouse`},
		"one with braces":               {text("{W}"), text("P"), `warehouse: "{W}" cannot name a warehouse`},
		"one with a line break":         {text("W1\n"), text("P"), `cannot name a warehouse`},
		"one that is too long":          {text(strings.Repeat("W", 65)), text("P"), `cannot name a warehouse`},
		"a required field that is NULL": {text("119240"), row.Value{}, "field bin: is NULL, but the type requires it"},
		"a warehouse of JSON":           {row.JSONOf(`{"a":1}`), text("P"), `cannot name a warehouse`},
		"a warehouse that looks a path": {text("../etc"), text("P"), `cannot name a warehouse`},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				r := w.rules[0]
				r.Notice.Warehouse = "wh"
				r.Notice.Title, r.Notice.Fields = map[string]string{"": "{{ .bin_code }} {{ .place }}"}, map[string]string{"bin": "place"}
				w.source.Columns = columns
				n := w.start(w.options("a"))
				bad := []row.Value{text("A-01"), row.IntOf(-1), c.wh, c.place}
				good := []row.Value{text("A-02"), row.IntOf(-1), text("119240 "), text("P")}
				w.set(bad, good)
				pass(6 * m)
				if s := status(t, n); !s.Verified {
					t.Fatal(s.Reason)
				}
				run := w.ledger.Runs()[0]
				if run.Outcome != ledger.OutcomeDegraded || run.Errored != 1 || run.Firing != 1 || len(run.Samples) != 1 || !strings.Contains(run.Samples[0], c.want) {
					t.Errorf("%+v", run)
				}
				if got := w.told(); len(got) != 1 || got[0] != "firing A-02 P" || w.ledger.Unsent() != 0 {
					t.Errorf("told %q", got)
				}
				w.set([]row.Value{text("A-01"), row.IntOf(-1), text("119240"), text("Q")}, good)
				pass(5 * m)
				if got := w.told(); len(got) != 2 || got[1] != "firing A-01 Q" {
					t.Errorf("told %q", got)
				}
			})
		})
	}
}
