package engine

import (
	"bytes"
	"encoding/json"
)

// ColumnValue is a column of a row that the ledger has kept. Value is nil for NULL.
type ColumnValue struct {
	Name  string
	Value *string
}

// RowColumns are the columns of a row as FindingChange.Row has it, in the order of the probe. What is no such row has none.
func RowColumns(kept []byte) []ColumnValue {
	d := json.NewDecoder(bytes.NewReader(kept))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var list []ColumnValue
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil
		}
		c := ColumnValue{Name: name.(string)} // a key of an object is a text
		if string(raw) != "null" {
			text, _ := unquote(string(raw))
			c.Value = &text
		}
		list = append(list, c)
	}
	return list
}
