package rules

import (
	"fmt"
	"slices"

	"tallyman/rules/condition"
	"tallyman/rules/row"
)

// entry is an entry of the rule's deliver; nil is an expression that it does not have.
type entry struct {
	when *condition.Program
	at   *condition.Program
}

func (c *compiler) deliver() {
	c.program.everywhere = everywhere(c.r)
	entries := make([]entry, len(c.r.Deliver))
	for i, d := range c.r.Deliver {
		if d.When != "" {
			entries[i].when = c.condition(deliverPath(i, "when"), d.When)
		}
		if d.At != "" {
			entries[i].at = c.time(deliverPath(i, "at"), d.At)
		}
	}
	if slices.ContainsFunc(entries, func(e entry) bool { return e != entry{} }) {
		c.program.deliver = entries
	}
}

// time compiles an expression that gives a time, or NULL.
func (c *compiler) time(path, src string) *condition.Program {
	p := c.expr(path, src)
	if p == nil || slices.Contains([]row.Kind{row.Time, row.JSON, row.Null}, p.Kind()) {
		return p
	}
	hint := `a time column, or a calculation with one such as released_at + duration("10m")`
	switch p.Kind() {
	case row.Date:
		hint = `add the time of day, in UTC: ` + src + ` + duration("8h")`
	case row.Text:
		hint = "CAST it to a timestamp in the SQL, or write date(" + src + ")"
	case row.Duration:
		hint = "for a fixed time after the notice write delay; to begin at a time of the row add it: released_at + …"
	default: // the general hint
	}
	c.fail(path, CodeExprKind, fmt.Sprintf("the time is a value of kind %s", p.Kind()), hint)
	return p
}
