package judge

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"tallyman/rules/row"
)

// mostRowJSON is the largest size in bytes of a row that is stored with a finding.
const mostRowJSON = 16 << 10

// longRowText is the largest size in bytes of one text in a stored row.
const longRowText = 2 << 10

// rowJSON encodes rows as JSON objects for people: the columns in their order, with values as notices carry them.
// rowJSON cuts long texts, and leaves out columns beyond mostRowJSON.
type rowJSON struct{ buf []byte }

func (j *rowJSON) encode(r *row.Row) []byte {
	j.buf = append(j.buf[:0], '{')
	for i, v := range r.Values {
		mark := len(j.buf)
		if mark > 1 {
			j.buf = append(j.buf, ',')
		}
		j.text(r.Columns[i].Name)
		j.buf = append(j.buf, ':')
		j.value(v)
		if len(j.buf) >= mostRowJSON {
			j.buf = j.buf[:mark]
			break
		}
	}
	j.buf = append(j.buf, '}')
	return append([]byte(nil), j.buf...)
}

func (j *rowJSON) value(v row.Value) {
	switch v := v.Data().(type) {
	case nil:
		j.buf = append(j.buf, "null"...)
	case bool:
		j.buf = strconv.AppendBool(j.buf, v)
	case int64:
		j.buf = strconv.AppendInt(j.buf, v, 10)
	case string:
		j.text(Cut(v, longRowText))
	}
}

func (j *rowJSON) text(s string) {
	if strings.IndexFunc(s, needsEscape) < 0 {
		j.buf = append(append(append(j.buf, '"'), s...), '"')
		return
	}
	escaped, err := json.Marshal(s)
	if err != nil {
		escaped = []byte(`""`) // Not expected: every text has a JSON form.
	}
	j.buf = append(j.buf, escaped...)
}

// needsEscape tells whether JSON must escape the character. Beyond ASCII these are only the two line ends of Unicode
// and the replacement character of invalid UTF-8.
func needsEscape(r rune) bool {
	return r < ' ' || r == '"' || r == '\\' || r == '\u2028' || r == '\u2029' || r == utf8.RuneError
}

// ColumnValue is a column of a row that the ledger has kept. Value is nil for NULL.
type ColumnValue struct {
	Name  string
	Value *string
}

// RowColumns returns the columns of a row that FindingChange.Row has stored, in the order of the probe. RowColumns
// returns none for a text that is no such row.
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
		c := ColumnValue{Name: name.(string)} // A key of a JSON object is always a string.
		if string(raw) != "null" {
			text := string(raw)
			if words, isText := row.KeyText(text); isText && raw[0] == '"' {
				text = words
			}
			c.Value = &text
		}
		list = append(list, c)
	}
	return list
}
