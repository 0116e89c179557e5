package record

import (
	"tallyman/internal/ledger"
	"tallyman/rules/row"
)

// Watermark is a rule's watermark in a record: the text of each column's value.
type Watermark struct {
	Rule     string            `json:"rule"`
	Scope    string            `json:"scope"`
	Position map[string]string `json:"position"`
}

// Rewound is the record of a watermark that was moved; before is nil where the rule had none.
func Rewound(before []row.Value, r *ledger.Rewind) *ledger.Change {
	c := &ledger.Change{Action: "rule.rewind", Object: rule(r.Rule, r.Scope), After: state(newWatermark(r, r.To)), Reason: r.Reason}
	if before != nil {
		c.Before = state(newWatermark(r, before))
	}
	return c
}

// newWatermark names the values by their columns. An older watermark may have more columns or fewer, because the
// rule's file has changed.
func newWatermark(r *ledger.Rewind, values []row.Value) Watermark {
	w := Watermark{Rule: r.Rule, Scope: r.Scope, Position: map[string]string{}}
	for i := range min(len(values), len(r.Columns)) {
		w.Position[r.Columns[i]] = values[i].String()
	}
	return w
}
