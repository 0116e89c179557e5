package origin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tallyman/internal/ledger"
	"tallyman/rules"
	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/rules/scopelist"
	"tallyman/scanners"
)

// Scopes is the Kind of the scopes that a query lists for a rule.
type Scopes struct {
	Ledger ledger.ScopeKeeper // Not needed by AskScopes.
	Rule   *rules.Rule        // The rule must be rules.MadeUp.
	Author ledger.Author
}

// Origin implements Kind.
func (s *Scopes) Origin() ledger.OriginKey {
	return ledger.OriginKey{Kind: ledger.OriginScopes, Name: s.Rule.ID}
}

// Most implements Kind.
func (*Scopes) Most() int { return scopelist.Most }

// Begin implements Kind.
func (s *Scopes) Begin(_ context.Context, columns []row.Column) (List, error) {
	return newScopeReader(s, columns)
}

// AskScopes runs the scope query of a rule and returns the scopes. The rule must be rules.MadeUp.
func AskScopes(ctx context.Context, source scanners.Source, r *rules.Rule) (scopelist.List, error) {
	stmt, _ := r.Scopes.Statement() // The statement is valid: the loader checked it.
	list, err := Ask(ctx, source, stmt, &Scopes{Rule: r})
	if err != nil {
		return nil, err
	}
	return list.(*scopeReader).sorted(), nil //nolint:forcetypeassert // Begin has made it
}

const mostParamText = 1000 // Most characters of a text parameter.

// scopeReader converts rows to scopes.
type scopeReader struct {
	faults
	kind           *Scopes
	name, timezone int // Indexes of the columns; timezone -1 = no such column.
	params         []scopeParam
	zones          map[string]error // Faults of the time zones so far; nil = the zone is valid.
	seen           map[string]int   // Row number of each name.
	list           scopelist.List
}

// scopeParam is a column that sets a parameter of the rule.
type scopeParam struct {
	column int
	name   string // Name of the parameter as the rule spells it.
	own    any    // The rule's own value; values of the column must have the same type.
}

// newScopeReader finds the columns. It refuses a column that is not a parameter of the rule, because such a column
// would have no effect.
func newScopeReader(kind *Scopes, columns []row.Column) (*scopeReader, error) {
	r := &scopeReader{faults: faults{what: "scopes"}, kind: kind, name: -1, timezone: -1, zones: map[string]error{}, seen: map[string]int{}}
	var names []string
	for name := range kind.Rule.Probe.Params {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, c := range columns {
		column := strings.ToLower(c.Name)
		param := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, column) })
		switch {
		case column == "name":
			r.name = i
		case column == "timezone":
			r.timezone = i
		case param >= 0:
			r.params = append(r.params, scopeParam{column: i, name: names[param], own: kind.Rule.Probe.Params[names[param]]})
		default:
			return nil, fmt.Errorf("the query returns the column %s, which is not a parameter of the rule; %s", column, problem.Nearest(column, append([]string{"name", "timezone"}, names...), "columns that it may return"))
		}
	}
	if r.name < 0 {
		return nil, errors.New("the query returns no column name; write … AS name")
	}
	return r, nil
}

// Row implements List.
func (r *scopeReader) Row(x *row.Row) {
	s, fault := r.scope(x)
	if r.add(fault) {
		r.seen[s.Name] = r.rows
		r.list = append(r.list, s)
	}
}

// scope converts a row to a scope. fault is "" where the row is valid.
func (r *scopeReader) scope(x *row.Row) (s scopelist.Scope, fault string) {
	v := x.Values[r.name]
	if v.IsNull() {
		return s, "name is NULL"
	}
	name, ok := rules.ScopeName(v)
	if !ok {
		return s, fmt.Sprintf("name: %q cannot name a scope; letters, digits, _ . and -, at most 64, beginning with a letter or digit", clip(name))
	}
	if first, known := r.seen[name]; known {
		return s, fmt.Sprintf("name: %s is in row %d, too", name, first)
	}
	s.Name = name
	if r.timezone >= 0 && !x.Values[r.timezone].IsNull() {
		s.Timezone = text(&x.Values[r.timezone])
		if err := r.zone(s.Timezone); err != nil {
			return s, err.Error()
		}
	}
	for i := range r.params {
		p := &r.params[i]
		v := x.Values[p.column]
		if v.IsNull() {
			continue
		}
		value, fault := paramOf(p.own, v)
		if fault != "" {
			return s, p.name + ": " + fault
		}
		if s.Params == nil {
			s.Params = make(map[string]any, len(r.params))
		}
		s.Params[p.name] = value
	}
	return s, ""
}

// zone checks a time zone against the rule's schedule. It caches the result for each zone, because rows share zones.
func (r *scopeReader) zone(name string) error {
	if name == "" {
		return nil
	}
	err, known := r.zones[name]
	if !known {
		_, err = r.kind.Rule.JitterIn(name)
		r.zones[name] = err
	}
	return err
}

// Take implements List.
func (r *scopeReader) Take(ctx context.Context, token int64) (Taken, error) {
	rule := r.kind.Rule.ID
	c, err := r.kind.Ledger.TakeScopes(ctx, r.kind.Author, rule, token, r.sorted())
	return Taken{Waits: c.Waits, Confirm: "tallyman scopes confirm " + rule, Added: len(c.Added), Changed: len(c.Changed), Removed: len(c.Removed)}, err
}

func (r *scopeReader) sorted() scopelist.List {
	r.list.Sort()
	return r.list
}

// paramOf converts a value to a parameter. The parameter has the type of the rule's own value, or the column's type
// where the rule's own value is null. fault is "" where the value is valid.
func paramOf(own any, v row.Value) (value any, fault string) {
	if own == nil {
		own = ownOf(v)
	}
	number := v.Kind() == row.Int || v.Kind() == row.Decimal || v.Kind() == row.Float
	switch own.(type) {
	case string:
		if v.Kind() == row.Text {
			value = strings.Clone(v.Text())
			if utf8.RuneCountInString(v.Text()) > mostParamText {
				return nil, fmt.Sprintf("the text has more than %d characters", mostParamText)
			}
			return value, ""
		}
		return nil, fmt.Sprintf("is a value of kind %s, and the rule has a text; CAST it to a text", v.Kind())
	case int64:
		if n, err := strconv.ParseInt(string(v.AppendKey(nil)), 10, 64); err == nil && number && v.Kind() != row.Float {
			return n, ""
		}
		return nil, fmt.Sprintf("%q is a value of kind %s, and the rule has a whole number; CAST it to an integer, or write the number of the rule with a point", clip(v.String()), v.Kind())
	case float64:
		if f, err := strconv.ParseFloat(v.String(), 64); err == nil && number && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f, ""
		}
		return nil, fmt.Sprintf("%q is a value of kind %s, and the rule has a number", clip(v.String()), v.Kind())
	case bool:
		switch {
		case v.Kind() == row.Bool:
			return v.Bool(), ""
		case number && v.Kind() != row.Float && (v.String() == "0" || v.String() == "1"): // Some databases have no boolean type.
			return v.String() == "1", ""
		}
		return nil, fmt.Sprintf("%q is a value of kind %s, and the rule has true or false", clip(v.String()), v.Kind())
	}
	return nil, fmt.Sprintf("is a value of kind %s; CAST it to a text or a number", v.Kind())
}

// ownOf returns a value of the column's type, as a replacement for a null of the rule. It returns nil where no
// parameter can have the column's type.
func ownOf(v row.Value) any {
	switch v.Kind() {
	case row.Text:
		return ""
	case row.Int:
		return int64(0)
	case row.Decimal, row.Float:
		return float64(0)
	case row.Bool:
		return false
	default:
		return nil
	}
}

// clip shortens a value for an error text.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
