package ruletest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tallyman/rules/row"
	"tallyman/rules/strictyaml"
)

// difference is a field that is not as expected. want is what was written, got what there is; one of them may be missing.
type difference struct {
	path      string
	want, got any
	has       [2]bool // want, got
}

// differ compares what is written with a value of JSON and returns what differs. A map that is written is a part of the one that
// there is, unless exact says that it is all of it; a list is all of it.
func differ(path string, want *strictyaml.Node, got any, exact bool) []difference {
	wrong := []difference{{path: path, want: plain(want), got: got, has: [2]bool{true, true}}}
	switch want.Kind {
	case strictyaml.Mapping:
		fields, ok := got.(map[string]any)
		if !ok {
			return wrong
		}
		return differMap(path, want, fields, exact)
	case strictyaml.Sequence:
		if text, ok := got.(string); ok { // a key may be written as the list that it is
			got = listIn(text)
		}
		items, ok := got.([]any)
		if !ok || len(items) != len(want.Items) {
			return wrong
		}
		for i, item := range want.Items {
			if len(differ("", item, items[i], exact)) > 0 {
				return wrong
			}
		}
		return nil
	case strictyaml.Scalar:
	}
	if sameScalar(want, got) {
		return nil
	}
	return wrong
}

func differMap(path string, want *strictyaml.Node, got map[string]any, exact bool) []difference {
	var all []difference
	for _, f := range want.Fields {
		v, ok := got[f.Name]
		if !ok {
			all = append(all, difference{path: under(path, f.Name), want: plain(f.Value), has: [2]bool{true, false}})
			continue
		}
		if path == "" && f.Name == "deliver" {
			v = named(f.Value, v)
		}
		all = append(all, differ(under(path, f.Name), f.Value, v, exact)...)
	}
	if !exact {
		return all
	}
	var more []string
	for name := range got {
		if want.Field(name) == nil && (path != "" || !saidOtherwise(want, name)) {
			more = append(more, name)
		}
	}
	slices.SortFunc(more, byField)
	for _, name := range more {
		all = append(all, difference{path: under(path, name), got: got[name], has: [2]bool{false, true}})
	}
	return all
}

// saidOtherwise tells whether the test says with another field where the notice goes.
func saidOtherwise(want *strictyaml.Node, name string) bool {
	return name == "sinks" && want.Field("deliver") != nil || name == "deliver" && want.Field("sinks") != nil
}

func under(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// listIn reads a text that holds a JSON list.
func listIn(text string) any {
	var list []any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&list); err != nil {
		return text
	}
	return list
}

// sameScalar compares a single value. Numbers are compared by value, times as instants.
func sameScalar(want *strictyaml.Node, got any) bool {
	switch got := got.(type) {
	case nil:
		return want.IsNull()
	case bool:
		return want.Tag == "!!bool" && strings.EqualFold(want.Text, fmt.Sprint(got))
	case json.Number:
		if want.Tag != "!!int" && want.Tag != "!!float" {
			return false
		}
		a, errA := row.ParseDecimal(want.Text)
		b, errB := row.ParseDecimal(got.String())
		if errA != nil || errB != nil {
			return want.Text == got.String()
		}
		order, err := row.Compare(a, b)
		return err == nil && order == 0
	case span:
		d, err := strictyaml.ParseDuration(want.Text)
		return err == nil && d == time.Duration(got)
	case string:
		if want.Tag == "!!str" || want.Tag == "!!timestamp" {
			return want.Text == got || sameInstant(want, got)
		}
	}
	return false
}

// sameInstant lets a time be written in any zone.
func sameInstant(want *strictyaml.Node, got string) bool {
	at, err := time.Parse(time.RFC3339Nano, got)
	if err != nil || want.Tag != "!!timestamp" {
		return false
	}
	v, ok := instant(want.Text)
	return ok && v.Time().Equal(at)
}

// pair is two elements that stand for each other; -1 where the other list has none.
type pair struct{ want, got int }

// fitting is how much a notice counts that is all that was written; one that is a part of it counts less.
const fitting = 1000

// likeness is how much a notice is like what was written: 0 where nothing of it is the same.
func likeness(want *strictyaml.Node, got map[string]any, exact bool) int {
	differences := len(differ("", want, got, exact))
	if differences == 0 {
		return fitting
	}
	written := 0
	for _, f := range want.Fields {
		written += max(1, len(f.Value.Fields))
	}
	return max(written-differences, 0)
}

// align sets the notices beside what is expected, in order, so that as much as possible is alike; what is left between is set beside
// each other as it comes.
func align(want []noticeExpect, got []map[string]any, exact bool) []pair {
	like := make([][]int, len(want))
	best := make([][]int, len(want)+1) // of want[i:] and got[j:]
	best[len(want)] = make([]int, len(got)+1)
	for i := len(want) - 1; i >= 0; i-- {
		like[i], best[i] = make([]int, len(got)), make([]int, len(got)+1)
		for j := len(got) - 1; j >= 0; j-- {
			like[i][j] = likeness(want[i].node, got[j], exact)
			best[i][j] = max(best[i+1][j], best[i][j+1], best[i+1][j+1]+like[i][j])
		}
	}
	var pairs []pair
	i, j, fromI, fromJ := 0, 0, 0, 0
	between := func() {
		for fromI < i || fromJ < j {
			p := pair{-1, -1}
			if fromI < i {
				p.want = fromI
				fromI++
			}
			if fromJ < j {
				p.got = fromJ
				fromJ++
			}
			pairs = append(pairs, p)
		}
	}
	for i < len(want) && j < len(got) {
		switch {
		case like[i][j] > 0 && best[i][j] == best[i+1][j+1]+like[i][j]:
			between()
			pairs = append(pairs, pair{i, j})
			i, j = i+1, j+1
			fromI, fromJ = i, j
		case best[i][j] == best[i+1][j]:
			i++
		default:
			j++
		}
	}
	i, j = len(want), len(got)
	between()
	return pairs
}
