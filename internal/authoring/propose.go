package authoring

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"tallyman/rules"
	"tallyman/rules/catalog"
	"tallyman/rules/condition"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// NewRule holds the parts of a new rule. Start proposes them, and the author corrects them.
type NewRule struct {
	ID        string
	Title     string
	Source    string
	Table     string // As an SQL statement writes it.
	Columns   []NewColumn
	Cron      string
	Where     string // The condition of the probe, in SQL.
	Key       []string
	KeyIs     string // What the proposed key is: the primary key or a unique index. Empty where the table has neither.
	Type      string
	Warehouse string // An expression.
	Fields    []NewField
	Sink      string
	Language  string // The language of the texts for people: zh or en. Any other value counts as en.
}

// NewColumn is a column of the table.
type NewColumn struct {
	Name    string // The name in the rule.
	Written string // As an SQL statement writes it.
	Kind    row.Kind
}

// NewField is a field of the type, and the expression for its value. Expr is empty where no column fits.
type NewField struct {
	Name     string
	Expr     string
	Required bool
}

// everyFiveMinutes is the cron of a new rule.
const everyFiveMinutes = "*/5 * * * *"

func propose(t scanners.Table, types catalog.Catalog) *NewRule {
	r := &NewRule{Table: t.Name, Cron: everyFiveMinutes, Columns: newColumns(t.Columns)}
	called := func(written []string) []string {
		names := make([]string, len(written))
		for i, w := range written {
			names[i] = r.called(w)
		}
		return names
	}
	switch {
	case len(t.PrimaryKey) > 0:
		r.Key, r.KeyIs = called(t.PrimaryKey), "the primary key"
	case len(t.Unique) > 0:
		r.Key, r.KeyIs = called(t.Unique[0]), "a unique index"
	}
	if slices.Contains(r.Key, "") { // a column of the key must be cast first, so conditions cannot read it
		r.Key, r.KeyIs = nil, ""
	}
	if c := r.like(warehouseNames, row.Text, row.Int, row.Decimal); c != nil {
		r.Warehouse = c.Name
	}
	r.proposeWhere()
	r.Type = r.bestType(types)
	r.SetType(types[r.Type])
	r.Title = strings.ToUpper(r.ID[:1]) + strings.ReplaceAll(r.ID[1:], "-", " ")
	return r
}

// newColumns returns the columns that a condition can read. The other columns would need a CAST.
func newColumns(columns []row.Column) []NewColumn {
	var list []NewColumn
	taken := map[string]bool{}
	for _, c := range columns {
		name := strings.ToLower(c.Name)
		if condition.ColumnProblem(name) != nil {
			name = slug(c.Name, "_")
		}
		if c.Kind == row.Null || c.Kind == row.Bytes || taken[name] || condition.ColumnProblem(name) != nil {
			continue
		}
		taken[name] = true
		list = append(list, NewColumn{Name: name, Written: c.Name, Kind: c.Kind})
	}
	return list
}

// called returns the name of a column in the rule, and "" for a column that is left out.
func (r *NewRule) called(written string) string {
	for _, c := range r.Columns {
		if c.Written == written {
			return c.Name
		}
	}
	return ""
}

// Column returns the column with the name in the rule, or nil.
func (r *NewRule) Column(name string) *NewColumn {
	for i, c := range r.Columns {
		if c.Name == name {
			return &r.Columns[i]
		}
	}
	return nil
}

// ColumnNames returns the names of the columns, in the table's order.
func (r *NewRule) ColumnNames() []string {
	names := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		names[i] = c.Name
	}
	return names
}

// Patterns for the names of columns in warehouses, the most likely first.
var (
	warehouseNames = []string{`^(wh|whse|warehouse|site|facility|plant|depot|dc)_?(id|no|nr|num|number|code)?$`, `(^|_)(whse|warehouse|facility)(_|$)`}
	quantityNames  = []string{`^(qty|quantity)$`, `(^|_)(qty|quantity|onhand|on_hand|available|balance|stock)(_|$)`}
	minimumNames   = []string{`^min(imum)?_?(qty|quantity|stock|level)?$`, `(^|_)reorder(_|$)`}
)

// like finds a column of one of the kinds whose name fits a pattern. Earlier patterns win.
func (r *NewRule) like(patterns []string, kinds ...row.Kind) *NewColumn {
	for _, p := range patterns {
		name := regexp.MustCompile(p)
		for i, c := range r.Columns {
			if slices.Contains(kinds, c.Kind) && name.MatchString(c.Name) {
				return &r.Columns[i]
			}
		}
	}
	return nil
}

// proposeWhere proposes a condition on a quantity, and an id for that condition.
func (r *NewRule) proposeWhere() {
	subject := slug(bare(r.Table), "-")
	r.ID = fitID(subject + "-check")
	numbers := []row.Kind{row.Int, row.Decimal, row.Float}
	quantity := r.like(quantityNames, numbers...)
	if quantity == nil {
		return
	}
	if low := r.like(minimumNames, numbers...); low != nil && low != quantity {
		r.Where, r.ID = quantity.Written+" < "+low.Written, fitID(subject+"-below-minimum")
		return
	}
	r.Where, r.ID = quantity.Written+" < 0", fitID("negative-"+subject)
}

// bestType returns the type with the most fields that have a column. It leaves out types with a required field that has
// no column, and returns "" where no type remains.
func (r *NewRule) bestType(types catalog.Catalog) string {
	best, most := "", 0
	for _, code := range types.Codes() {
		found, missing := 0, false
		for _, f := range r.fieldsOf(types[code]) {
			if f.Expr != "" {
				found++
			}
			missing = missing || f.Required && f.Expr == ""
		}
		if !missing && found > most {
			best, most = code, found
		}
	}
	return best
}

// SetType sets another type and proposes its fields.
func (r *NewRule) SetType(t catalog.Type) { r.Type, r.Fields = t.Code, r.fieldsOf(t) }

func (r *NewRule) fieldsOf(t catalog.Type) []NewField {
	var list []NewField
	for _, name := range slices.Sorted(maps.Keys(t.Fields)) {
		f := NewField{Name: name, Required: t.Fields[name].Required}
		word := regexp.QuoteMeta(strings.ToLower(name))
		for _, p := range []string{`^` + word + `$`, `^` + word + `_?(code|no|nr|num|number|id|name|at)$`, `(^|_)` + word + `(_|$)`} {
			if c := r.fitting(p, t.Fields[name].Type); c != nil {
				f.Expr = c.Name
				break
			}
		}
		list = append(list, f)
	}
	return list
}

// fitting finds the column whose name fits the pattern and whose values fit the field.
func (r *NewRule) fitting(pattern string, kind catalog.FieldKind) *NewColumn {
	name := regexp.MustCompile(pattern)
	for i, c := range r.Columns {
		if name.MatchString(c.Name) && rules.Fits(kind, c.Kind) {
			return &r.Columns[i]
		}
	}
	return nil
}

var noWord = regexp.MustCompile(`[^a-z0-9]+`)

// slug makes a name from a text: lower-case letters and digits, with sep between words.
func slug(s, sep string) string {
	return strings.Trim(noWord.ReplaceAllString(strings.ToLower(s), sep), sep)
}

// bare returns the table's name without its schema.
func bare(table string) string { return table[strings.LastIndex(table, ".")+1:] }

// fitID shortens a name to an id.
func fitID(s string) string {
	const longest = 58 // leaves room for the -2 of freeID
	s = strings.Trim(s[:min(len(s), longest)], "-")
	if s == "" {
		return "new-rule"
	}
	return s
}
