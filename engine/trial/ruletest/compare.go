package ruletest

import (
	"encoding/json"
	"fmt"
	"strings"

	"tallyman/rules/strictyaml"
)

// diff collects what is not as expected: lines for people, and in said what they come to.
type diff struct {
	exact  bool
	counts bool // of findings
	said   []string
	lines  []string
}

func (d *diff) line(sign, format string, args ...any) {
	d.lines = append(d.lines, sign+" "+fmt.Sprintf(format, args...))
}

// message is the whole in one line.
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

// health lets nothing go wrong that was not expected to.
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

// notices compares the lists. Those that fit are not shown; the others are set beside each other in their order.
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

// brief is what tells a notice from others.
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
