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

// difference is a field that is not as expected. Either want or got may be missing.
type difference struct {
	path      string
	want, got any
	has       [2]bool // Whether there is a want, and whether there is a got.
}

// differ compares a written node with a JSON value and returns the differences. A written map may have only some of the
// fields, unless exact is set. A written list must have every element.
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
		if text, ok := got.(string); ok { // A key is a text with a JSON list, and may be written as a list.
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

// saidOtherwise tells whether the test gives the notice's sinks with the other one of the fields sinks and deliver.
func saidOtherwise(want *strictyaml.Node, name string) bool {
	return name == "sinks" && want.Field("deliver") != nil || name == "deliver" && want.Field("sinks") != nil
}

func under(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// listIn parses a text that is a JSON list. listIn returns any other text unchanged.
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

// sameInstant compares times. A time may be written in any zone.
func sameInstant(want *strictyaml.Node, got string) bool {
	at, err := time.Parse(time.RFC3339Nano, got)
	if err != nil || want.Tag != "!!timestamp" {
		return false
	}
	v, ok := instant(want.Text)
	return ok && v.Time().Equal(at)
}

// pair has the indices of an expected and an actual notice that belong together. -1 means there is none.
type pair struct{ want, got int }

// fitting is the likeness of a notice that is as expected.
const fitting = 1000

// likeness returns how similar a notice is to an expected one. 0 means no field is the same.
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

// align pairs expected and actual notices, in order, with the largest sum of likeness. Notices without a similar
// partner are paired in their order.
func align(want []noticeExpect, got []map[string]any, exact bool) []pair {
	like := make([][]int, len(want))
	best := make([][]int, len(want)+1) // The largest sum for want[i:] and got[j:].
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

// diff collects what is not as expected: detailed lines, and short statements in said.
type diff struct {
	exact  bool
	counts bool // The number of pending or firing findings is not as expected.
	said   []string
	lines  []string
}

func (d *diff) line(sign, format string, args ...any) {
	d.lines = append(d.lines, sign+" "+fmt.Sprintf(format, args...))
}

// message returns the statements in one line.
func (d *diff) message() string { return strings.Join(d.said, "; ") }

func (d *diff) compare(e *Expect, o *outcome) {
	for _, n := range []struct {
		name string
		want *int
		got  int
	}{
		{"rows", e.Rows, o.run.Rows},
		{"matched", e.Matched, o.run.Matched},
		{"errored", e.Errored, o.run.Errored},
		{"pending", e.Pending, o.run.Pending},
		{"firing", e.Firing, o.run.Firing},
	} {
		if n.want != nil && *n.want != n.got {
			d.counts = d.counts || n.name == "pending" || n.name == "firing"
			d.said = append(d.said, fmt.Sprintf("%s is %d, not %d", n.name, n.got, *n.want))
			d.line("-", "%s: %d", n.name, *n.want)
			d.line("+", "%s: %d", n.name, n.got)
		}
	}
	d.health(e, o)
	if e.CountNotices {
		d.notices(e.Notices, o.notices)
	}
}

// health compares the health. A run must not fail or be degraded unless the step expects that.
func (d *diff) health(e *Expect, o *outcome) {
	wrong := o.health == healthError || o.health == healthDegraded && (e.Errored == nil || *e.Errored != o.run.Errored)
	switch {
	case e.Health == o.health || e.Health == "" && !wrong:
		return
	case e.Health == "":
		d.said = append(d.said, fmt.Sprintf("health is %s, which the step does not expect", o.health))
	default:
		d.said = append(d.said, fmt.Sprintf("health is %s, not %s", o.health, e.Health))
		d.line("-", "health: %s", e.Health)
	}
	d.line("+", "health: %s", o.health)
}

// notices compares the lists of notices. notices shows only notices that differ, in pairs.
func (d *diff) notices(want []noticeExpect, got []map[string]any) {
	pairs := align(want, got, d.exact)
	before := len(d.lines)
	for _, p := range pairs {
		switch {
		case p.want >= 0 && p.got >= 0:
			d.notice(p, want[p.want].node, got[p.got])
		case p.want >= 0:
			d.line("-", "notices[%d]: %s", p.want, flow(plain(want[p.want].node)))
		default:
			d.line("+", "not expected: %s", flow(brief(got[p.got])))
		}
	}
	switch {
	case len(want) != len(got):
		d.said = append(d.said, fmt.Sprintf("%s, not %s", notices(len(got)), counted(len(want))))
	case len(d.lines) > before:
		d.said = append(d.said, "the notices differ")
	}
}

func (d *diff) notice(p pair, want *strictyaml.Node, got map[string]any) {
	found := differ("", want, got, d.exact)
	if len(found) == 0 {
		return
	}
	d.line(" ", "notices[%d], of the finding %s:", p.want, got["key"])
	for _, f := range found {
		if f.has[0] {
			d.line("-", "  %s: %s", f.path, flow(f.want))
		}
		if f.has[1] {
			d.line("+", "  %s: %s", f.path, flow(f.got))
		}
		if number, ok := f.want.(json.Number); ok && f.got == number.String() {
			d.line(" ", "  a notice carries decimals as texts: write %s: %s", f.path, flow(f.got))
		}
	}
}

func counted(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

func notices(n int) string {
	switch n {
	case 0:
		return "no notice"
	case 1:
		return "1 notice"
	}
	return fmt.Sprintf("%d notices", n)
}

// brief returns the fields that distinguish a notice from others.
func brief(n map[string]any) map[string]any {
	short := map[string]any{}
	for _, name := range []string{"status", "type", "warehouse", "priority", "key", "title", "data"} {
		short[name] = n[name]
	}
	if n["count"] != nil && fmt.Sprint(n["count"]) != "1" {
		short["count"] = n["count"]
	}
	return short
}
