package why

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tallyman/internal/finding"
	"tallyman/rules"
	"tallyman/rules/row"
)

func TestResolveKey(t *testing.T) {
	t.Parallel()
	columns := []row.Column{
		{Name: "wh", Kind: row.Int},
		{Name: "bin", Kind: row.Text},
		{Name: "qty", Kind: row.Decimal},
		{Name: "at", Kind: row.Time},
		{Name: "ok", Kind: row.Bool},
		{Name: "day", Kind: row.Date},
	}
	open := []finding.State{{Key: `["119240",7]`}}
	for _, c := range []struct {
		text    string
		key     []string
		columns []row.Column
		want    string
	}{
		{`[119240, "A-01"]`, []string{"wh", "bin"}, columns, `[119240,"A-01"]`},
		{` 119240 , A-01 `, []string{"wh", "bin"}, columns, `[119240,"A-01"]`},
		{`119240,"A-01, left"`, []string{"wh", "bin"}, columns, `[119240,"A-01, left"]`},
		{`007`, []string{"bin"}, columns, `["007"]`},
		{`"007"`, []string{"bin"}, columns, `["007"]`},
		{`7.50`, []string{"qty"}, columns, `[7.5]`},
		{`["7.50"]`, []string{"qty"}, columns, `[7.5]`},
		{`[7.50]`, []string{"qty"}, columns, `[7.5]`},
		{`seven`, []string{"qty"}, columns, `["seven"]`},
		{`2026-06-01T08:00:00+08:00`, []string{"at"}, columns, `["2026-06-01T00:00:00Z"]`},
		{`2026-06-01`, []string{"day"}, columns, `["2026-06-01"]`},
		{`true`, []string{"ok"}, columns, `[true]`},
		{`null`, []string{"bin"}, columns, `[null]`},
		{`[]`, nil, columns, `[]`},
		{`no_data`, []string{"bin"}, columns, `"no_data"`},
		{`"on_error"`, []string{"bin"}, nil, `"on_error"`},
		{`119240,7`, []string{"wh", "bin"}, nil, `["119240",7]`}, // as it is open
		{`119240,8`, []string{"wh", "bin"}, nil, `[119240,8]`},
		{`A,8`, []string{"wh", "bin"}, nil, `["A",8]`},
		{`["119240",8]`, []string{"wh", "bin"}, nil, `["119240",8]`},
	} {
		got, err := resolveKey(c.text, &rules.Rule{ID: "r", Key: c.key}, open, c.columns)
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "1", "1,2,3", "[1", "[1,2]]", `[1]`} {
		_, err := resolveKey(text, &rules.Rule{ID: "r", Key: []string{"wh", "bin"}}, nil, columns)
		if _, ok := errors.AsType[*KeyError](err); !ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestGroupKey takes the key of a group for its first open finding.
func TestGroupKey(t *testing.T) {
	t.Parallel()
	open := []finding.State{
		{Key: `[119240,"B-02"]`, Group: `["w7"]`},
		{Key: `[119240,"A-01"]`, Group: `["w7"]`},
		{Key: `[5,"x"]`, Group: `["5"]`},
		{Key: `["a","b"]`, Group: `["c","d"]`},
	}
	columns := []row.Column{{Name: "wh", Kind: row.Int}, {Name: "bin", Kind: row.Text}, {Name: "wave", Kind: row.Text}, {Name: "zone", Kind: row.Text}}
	for _, c := range []struct {
		text    string
		by      []string
		columns []row.Column
		want    string
		group   bool
	}{
		{`["w7"]`, []string{"wave"}, columns, `[119240,"A-01"]`, false},
		{`w7`, []string{"wave"}, nil, `[119240,"A-01"]`, false},
		{`5`, []string{"wave"}, nil, `[5,"x"]`, false},
		{`w8`, []string{"wave"}, columns, `["w8"]`, true},
		{`119240,A-01`, []string{"wave"}, columns, `[119240,"A-01"]`, false},
		{`c,d`, []string{"wave", "zone"}, columns, `["a","b"]`, false},
		{`119240,B-02`, []string{"wave", "zone"}, columns, `[119240,"B-02"]`, false},
		{`7,new`, []string{"wave", "zone"}, columns, `[7,"new"]`, false},
	} {
		r := &rules.Rule{ID: "r", Key: []string{"wh", "bin"}, GroupBy: c.by}
		got, err := resolveKey(c.text, r, open, c.columns)
		if err != nil || got != c.want || isGroup(got, r) != c.group {
			t.Errorf("%s by %v: %s (a group: %v), %v, want %s", c.text, c.by, got, isGroup(got, r), err, c.want)
		}
	}
	_, err := resolveKey("a,b,c", &rules.Rule{ID: "r", Key: []string{"wh", "bin"}, GroupBy: []string{"wave"}}, open, columns)
	if err == nil || !strings.Contains(err.Error(), "or [wave] for a group") {
		t.Error(err)
	}
}

func TestAlike(t *testing.T) {
	t.Parallel()
	var open []finding.State
	for _, key := range []string{`[119240,"A-01","S1"]`, `[119240,"A-02","S1"]`, `[119240,"Z-99","QQ"]`, `[5,"x","y"]`, `"no_data"`} {
		open = append(open, finding.State{Key: key})
	}
	if got := alike(`[119240,"A-1","S1"]`, open); len(got) < 2 || got[0] != `[119240,"A-01","S1"]` || slices.Contains(got, `[5,"x","y"]`) {
		t.Errorf("alike: %v", got)
	}
	if got := alike(`["else"]`, open); got != nil {
		t.Errorf("alike: %v", got)
	}
}

func FuzzResolveKey(f *testing.F) {
	f.Add(`[119240,"A-01"]`, 3)
	f.Add(`a,"b,`, 5)
	f.Fuzz(func(t *testing.T, text string, kind int) {
		columns := []row.Column{{Name: "a", Kind: row.Kind(kind % 12)}, {Name: "b", Kind: row.Text}}
		r := &rules.Rule{ID: "r", Key: []string{"a", "b"}}
		key, err := resolveKey(text, r, nil, columns)
		if err != nil || key == finding.NoData || key == finding.OnError {
			return
		}
		again, err := resolveKey(key, r, nil, columns)
		if err != nil || again != key {
			t.Errorf("%q is %s, and that is %s, %v", text, key, again, err)
		}
	})
}
