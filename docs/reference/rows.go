package main

import (
	"time"

	"tallyman/rules/row"
)

// exampleNow is what now() returns in the examples.
func exampleNow() time.Time { return time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC) }

// exampleRow is the row that the examples are over.
func exampleRow() *row.Row {
	return &row.Row{
		Columns: []row.Column{
			{Name: "sku", Kind: row.Text},
			{Name: "zone", Kind: row.Text},
			{Name: "qty", Kind: row.Decimal},
			{Name: "price", Kind: row.Decimal},
			{Name: "lines", Kind: row.Int},
			{Name: "ratio", Kind: row.Float},
			{Name: "held", Kind: row.Bool},
			{Name: "wave_no", Kind: row.Int},
			{Name: "released_at", Kind: row.Time},
			{Name: "doc", Kind: row.JSON},
		},
		Values: []row.Value{
			row.TextOf("TEST-42"), row.TextOf("A"), row.DecimalOf(-350, 2), row.DecimalOf(1990, 2),
			row.IntOf(4), row.FloatOf(0.25), row.BoolOf(false),
			{},
			row.TimeOf(time.Date(2026, 5, 30, 22, 15, 0, 0, time.UTC)), row.JSONOf(`{"wave": 77, "lines": [{"sku": "A"}]}`),
		},
	}
}

// exampleRows is the result that the examples with rows are over.
func exampleRows() []*row.Row {
	columns := []row.Column{{Name: "sku", Kind: row.Text}, {Name: "qty", Kind: row.Decimal}}
	var rows []*row.Row
	for _, r := range []struct {
		sku        string
		hundredths int64
	}{{"A", 150}, {"B", -300}, {"A", 700}} {
		rows = append(rows, &row.Row{Columns: columns, Values: []row.Value{row.TextOf(r.sku), row.DecimalOf(r.hundredths, 2)}})
	}
	return rows
}
