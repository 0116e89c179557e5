package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tallyman/internal/notice"
	"tallyman/rules/catalog"
	"tallyman/rules/condition"
	"tallyman/rules/message"
	"tallyman/rules/problem"
	"tallyman/rules/row"
)

// Compile checks the rule against the columns and the catalogue. It returns every problem, and a nil Program where
// there is a problem. Where columns are bad, it returns the problems of the columns only.
func Compile(r *Rule, columns []row.Column, types catalog.Catalog) (*Program, problem.List) {
	typ, found := dataOf(r, types)
	whole := r.Of(&typ)
	c := &compiler{r: whole, columns: columns, program: &Program{rule: whole, typ: typ, spare: &sync.Pool{}}}
	c.columnNames()
	c.declare()
	if len(c.problems) > 0 {
		return nil, c.problems // with bad columns, every expression would fail as well
	}
	c.program.when = c.condition("when", c.r.When)
	c.program.key = c.positions("key", r.Key)
	if r.GroupBy != nil {
		c.program.group = c.positions("group_by", r.GroupBy)
	}
	if r.SplitBy != "" {
		c.program.split = c.position("split_by", r.SplitBy)
	}
	if r.NotifyAgainOn != nil {
		c.program.watched = c.positions("notify_again_on", r.NotifyAgainOn)
		c.program.watchedName = hashed(strings.Join(r.NotifyAgainOn, "\x00"))
	}
	c.watermark()
	c.problems = append(c.problems, found...)
	c.notice(typ)
	c.texts()
	c.deliver()
	if len(c.problems) > 0 {
		return nil, Tidy(c.problems)
	}
	return c.program, nil
}

type compiler struct {
	r        *Rule
	columns  []row.Column
	program  *Program
	problems problem.List
}

func (c *compiler) fail(path, code, message, hint string) {
	c.problems = append(c.problems, c.r.Problem(path, code, message, hint))
}

// columnNames checks that the names of columns are unique, and that expressions can use them.
func (c *compiler) columnNames() {
	for i, col := range c.columns {
		if err := condition.ColumnProblem(col.Name); err != nil {
			c.fail("probe.sql", CodeColumnName, err.Error(), "as in SELECT count(*) AS lines")
			continue
		}
		if row.Index(c.columns, col.Name) < i {
			c.fail("probe.sql", CodeColumnName, fmt.Sprintf("two columns are called %q; upper and lower case count as equal", col.Name),
				"give one of them another name with AS")
		}
	}
}

// expr compiles the expression of a field. It returns nil where the expression has problems.
func (c *compiler) expr(path, src string) *condition.Program {
	compile := condition.Compile
	if c.r.Per == PerResult {
		compile = condition.CompileResult
	}
	p, err := compile(src, c.columns)
	for _, e := range condition.Errors(err) {
		c.problems = append(c.problems, c.r.ProblemIn(path, e.Offset, string(e.Code), e.Message, e.Hint))
	}
	if err != nil {
		return nil
	}
	return p
}

// condition compiles an expression that gives true or false.
func (c *compiler) condition(path, src string) *condition.Program {
	p := c.expr(path, src)
	if p == nil {
		return nil
	}
	if k := p.Kind(); k != row.Bool && k != row.JSON {
		c.fail(path, CodeExprKind, fmt.Sprintf("the condition gives a value of kind %s, not true or false", k), "compare it, as in qty < 0")
	}
	return p
}

// positions returns the positions of columns by their names. A column that is missing has position -1.
func (c *compiler) positions(path string, names []string) []int {
	at := make([]int, 0, len(names))
	for i, name := range names {
		at = append(at, c.position(fmt.Sprintf("%s[%d]", path, i), name))
	}
	return at
}

// position returns the position of a column. Where the column is missing, it reports a problem and returns -1.
func (c *compiler) position(path, name string) int {
	n := row.Index(c.columns, name)
	if n < 0 {
		c.fail(path, CodeUnknownColumn, fmt.Sprintf("the probe returns no column %q", name), c.nearColumn(name))
	}
	return n
}

func (c *compiler) nearColumn(name string) string {
	names := make([]string, len(c.columns))
	for i, col := range c.columns {
		names[i] = col.Name
	}
	if slices.Contains(names, strings.ToLower(name)) {
		return "column names are lower case here: " + strings.ToLower(name)
	}
	return problem.Nearest(name, names, "columns")
}

func (c *compiler) notice(typ catalog.Type) {
	c.warehouse()
	c.priority()
	c.order()
	c.program.words.fields = typ.Columns()
	if c.r.Notice.Fields == nil {
		c.columnFields(typ)
		return
	}
	for _, name := range typ.FieldNames() {
		if src, ok := c.r.Notice.Fields[name]; ok {
			c.field(typ, name, "notice.fields."+name, src)
		}
	}
}

func (c *compiler) warehouse() {
	src := c.r.Notice.Warehouse
	if src == "" {
		return
	}
	before := len(c.problems)
	p := c.expr("notice.warehouse", src)
	if p == nil {
		c.constantWarehouse(before, src)
		return
	}
	c.program.warehouse = p
	if !slices.Contains([]row.Kind{row.Text, row.Int, row.Decimal, row.JSON}, p.Kind()) {
		c.fail("notice.warehouse", CodeExprKind, fmt.Sprintf("the warehouse is a value of kind %s", p.Kind()), "a text or a whole number names a warehouse")
	}
}

// constantWarehouse handles a common mistake: a constant warehouse without its inner quotes, as in warehouse: "W1".
// YAML removes the quotes, so that the expression names a column W1. One problem with a hint replaces the problems of
// the expression.
func (c *compiler) constantWarehouse(before int, src string) {
	unknown := func(p problem.Problem) bool { return p.Code == string(condition.CodeUnknownName) }
	if !plainName.MatchString(src) || slices.ContainsFunc(c.problems[before:], func(p problem.Problem) bool { return !unknown(p) }) {
		return
	}
	c.problems = c.problems[:before]
	c.fail("notice.warehouse", string(condition.CodeUnknownName), "there is no column "+src,
		fmt.Sprintf(`notice.warehouse is an expression: a warehouse stands in two kinds of quotes, '"%s"'; %s`, src, c.nearColumn(src)))
}

func (c *compiler) priority() {
	src := c.r.Notice.Priority
	if src == "" {
		c.program.fixed = notice.DefaultPriority
		return
	}
	if n, err := strconv.Atoi(src); err == nil {
		c.program.fixed = min(max(n, 1), 5)
		return
	}
	p := c.expr("notice.priority", src)
	if p != nil && !slices.Contains([]row.Kind{row.Int, row.Decimal, row.Float, row.JSON}, p.Kind()) {
		c.fail("notice.priority", CodeExprKind, fmt.Sprintf("the priority is a value of kind %s, not a number", p.Kind()), "a number from 1 (low) to 5 (high)")
	}
	c.program.priority = p
}

// columnFields takes the value of each field from the column of the same name. It serves rules without notice.fields.
func (c *compiler) columnFields(typ catalog.Type) {
	for _, name := range typ.FieldNames() {
		if row.Index(c.columns, strings.ToLower(name)) >= 0 {
			src := strings.ToLower(name)
			if c.r.Per == PerResult {
				src = "rows[0]." + src
			}
			c.field(typ, name, "notice.type", src)
		} else if typ.Fields[name].Required {
			c.fail("notice.type", CodeDataMissing, fmt.Sprintf("%s requires the field %q, and no column has that name", typ.Code, name),
				fmt.Sprintf("set notice.fields.%s, or give a column that name with AS", name))
		}
	}
}

func (c *compiler) field(typ catalog.Type, name, path, src string) {
	p := c.expr(path, src)
	if p == nil {
		return
	}
	want := typ.Fields[name]
	if !Fits(want.Type, p.Kind()) {
		c.fail(path, CodeDataKind, fmt.Sprintf("the field %q of %s is of type %s, but the expression gives a value of kind %s", name, typ.Code, want.Type, p.Kind()),
			kindHint(want.Type, p.Kind()))
	}
	c.program.fields = append(c.program.fields, dataField{name: name, column: row.Index(c.program.words.fields, name), kind: want.Type, required: want.Required, value: p})
}

// texts binds the templates of title and body in every language. Where the rule has none, texts binds the type's
// templates.
func (c *compiler) texts() {
	zone, err := time.LoadLocation(c.r.Schedule.Timezone)
	if err != nil {
		zone = time.UTC // Load has reported the bad timezone
	}
	w := &c.program.words
	titles := c.bind("notice.title", c.r.Notice.Title, zone)
	if w.typeTitle = len(titles) == 0; w.typeTitle {
		titles = c.ofType(zone, c.program.typ.BindTitle)
	}
	bodies := c.bind("notice.body", c.r.Notice.Body, zone)
	if w.typeBody = len(bodies) == 0; w.typeBody {
		bodies = c.ofType(zone, c.program.typ.BindBody)
	}
	w.Words = message.NewWords(titles, bodies)
}

// ofType binds templates of the type. The catalogue has checked the templates before, so faults are rare.
func (c *compiler) ofType(zone *time.Location, bind func(*time.Location) (message.Bounds, []catalog.Fault)) message.Bounds {
	bound, faults := bind(zone)
	for _, f := range faults {
		c.problems = append(c.problems, c.r.typeProblem(&c.program.typ, f.Field, f.Code, f.Message, f.Hint))
	}
	return bound
}

func (c *compiler) bind(path string, byLanguage map[string]string, zone *time.Location) message.Bounds {
	bound := message.Bounds{}
	for _, lang := range sortedKeys(byLanguage) {
		t, faults := parseText(c.r, byLanguage[lang])
		var b *message.Bound
		switch {
		case len(faults) > 0:
		case c.r.manyRows():
			b, faults = t.BindRows(c.columns, c.r.GroupBy, zone)
		default:
			b, faults = t.Bind(c.columns, zone)
		}
		for _, f := range faults {
			c.problems = append(c.problems, c.r.ProblemIn(textPath(path, lang), f.Offset, f.Code, f.Message, f.Hint))
		}
		bound[lang] = b
	}
	return bound
}

// manyRows tells whether a notice of the rule is about several rows.
func (r *Rule) manyRows() bool { return r.Per == PerResult || len(r.GroupBy) > 0 }

func parseText(r *Rule, src string) (*message.Template, []message.Fault) {
	if r.manyRows() {
		return message.ParseRows(src)
	}
	return message.Parse(src)
}

// entry holds the compiled expressions of one entry of deliver. A nil program means that the entry has no such
// expression.
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
		hint = "write delay for a fixed time after the notice; to count from a time of the row, add the duration to that column: released_at + …"
	default: // keep the general hint
	}
	c.fail(path, CodeExprKind, fmt.Sprintf("the time is a value of kind %s", p.Kind()), hint)
	return p
}
