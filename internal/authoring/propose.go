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

// NewRule is what a new rule is made of. Start proposes it, the author changes what is wrong.
type NewRule struct {
	ID        string
	Title     string
	Source    string
	Table     string // as a statement writes it
	Columns   []NewColumn
	Cron      string
	Where     string // of the probe, in SQL
	Key       []string
	KeyIs     string // what the proposed key is: the primary key, a unique index; "" where the table has neither
	Type      string
	Warehouse string // expr
	Fields    []NewField
	Sink      string
}

// NewColumn is a column of the table.
type NewColumn struct {
	Name    string // as the rule calls it
	Written string // as a statement writes it
	Kind    row.Kind
}

// NewField is a field of the type and where its value comes from; Expr is "" where no column fits.
type NewField struct {
	Name     string
	Expr     string
	Required bool
}

// everyFiveMinutes is what a rule begins with.
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
	if slices.Contains(r.Key, "") { // of a column that has to be cast
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

// newColumns are those that a condition can read; the others would have to be cast.
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

// called is the name of a column in the rule; "" where it is left out.
func (r *NewRule) called(written string) string {
	for _, c := range r.Columns {
		if c.Written == written {
			return c.Name
		}
	}
	return ""
}

// Column returns the column that the rule calls so, or nil.
func (r *NewRule) Column(name string) *NewColumn {
	for i, c := range r.Columns {
		if c.Name == name {
			return &r.Columns[i]
		}
	}
	return nil
}

// ColumnNames are the names of the columns, in the table's order.
func (r *NewRule) ColumnNames() []string {
	names := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		names[i] = c.Name
	}
	return names
}

// What columns are called in warehouses, the likeliest first.
var (
	warehouseNames = []string{`^(wh|whse|warehouse|site|facility|plant|depot|dc)_?(id|no|nr|num|number|code)?$`, `(^|_)(whse|warehouse|facility)(_|$)`}
	quantityNames  = []string{`^(qty|quantity)$`, `(^|_)(qty|quantity|onhand|on_hand|available|balance|stock)(_|$)`}
	minimumNames   = []string{`^min(imum)?_?(qty|quantity|stock|level)?$`, `(^|_)reorder(_|$)`}
)

// like finds the column of one of the kinds whose name fits a pattern, the first pattern first.
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

// proposeWhere proposes a condition on a quantity, and an id that says it.
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

// bestType is the type most of whose fields have a column; "" where a required one of each has none.
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

// SetType proposes the fields anew, for another type.
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

// slug makes a name of letters and digits, with sep between them.
func slug(s, sep string) string {
	return strings.Trim(noWord.ReplaceAllString(strings.ToLower(s), sep), sep)
}

// bare is the table's name without schema and quotes.
func bare(table string) string { return table[strings.LastIndex(table, ".")+1:] }

// fitID makes an id of a name.
func fitID(s string) string {
	const longest = 58 // room for -2 and the like
	s = strings.Trim(s[:min(len(s), longest)], "-")
	if s == "" {
		return "new-rule"
	}
	return s
}
