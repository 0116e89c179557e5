package judge

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tallyman/rules/row"
)

func TestRowJSON(t *testing.T) {
	columns := []row.Column{{Name: "z"}, {Name: "qty"}, {Name: "n"}, {Name: "at"}, {Name: "ok"}, {Name: "none"}, {Name: "bad"}}
	var j rowJSON
	r := &row.Row{Columns: columns, Values: []row.Value{
		row.TextOf(`a "b"`), row.DecimalOf(-300, 2), row.IntOf(7), row.TimeOf(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)), row.BoolOf(true), {}, row.TextOf("x\xff\x00"),
	}}
	got := string(j.encode(r))
	if want := `{"z":"a \"b\"","qty":"-3.00","n":7,"at":"2026-06-01T00:00:00Z","ok":true,"none":null,"bad":"x` + "\ufffd\ufffd" + `"}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	long := row.TextOf(strings.Repeat("é", longRowText))
	big := &row.Row{}
	for i := range 20 {
		big.Columns = append(big.Columns, row.Column{Name: string(rune('a' + i))})
		big.Values = append(big.Values, long)
	}
	text := j.encode(big)
	var back map[string]string
	if err := json.Unmarshal(text, &back); err != nil || len(text) > mostRowJSON || len(back) != 7 || !strings.HasSuffix(back["a"], "é…") {
		t.Errorf("%d bytes, %d columns: %v", len(text), len(back), err)
	}
}
