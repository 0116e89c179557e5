package engine

import (
	"encoding/json"

	"tallyman/rules/row"
)

// mostRowJSON is how many bytes are kept of the row that a finding was made of.
const mostRowJSON = 16 << 10

// longRowText is how many bytes of one text are kept.
const longRowText = 2 << 10

// rowJSON writes rows as JSON objects for people to look at: the columns in their order, values as notices carry them. Long
// texts are cut, and columns that find no room any more are left out.
type rowJSON struct{ buf []byte }

func (j *rowJSON) encode(r *row.Row) []byte {
	j.buf = append(j.buf[:0], '{')
	for i, v := range r.Values {
		mark := len(j.buf)
		if mark > 1 {
			j.buf = append(j.buf, ',')
		}
		j.value(r.Columns[i].Name)
		j.buf = append(j.buf, ':')
		j.value(dataValue(v))
		if len(j.buf) >= mostRowJSON {
			j.buf = j.buf[:mark]
			break
		}
	}
	j.buf = append(j.buf, '}')
	return append([]byte(nil), j.buf...)
}

// value writes nil, a bool, an int64 or a text.
func (j *rowJSON) value(v any) {
	if text, is := v.(string); is {
		v = cut(text, longRowText)
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		encoded = []byte("null") // none of the four fails
	}
	j.buf = append(j.buf, encoded...)
}
