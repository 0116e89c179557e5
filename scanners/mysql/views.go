package mysql

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

//go:embed views.sql
var viewsSQL string

// relation is a table or view, or what may be one; both names in lower case.
type relation struct{ database, table string }

// views tells which views read past staged tables.
type views struct {
	home        string              // the database of the staged tables
	hidden      []string            // those of its own that staged ones stand before
	definitions map[relation]string // "" where the user may not see it
}

// loadViews is asked where tables are hidden.
func (t *transaction) loadViews(ctx context.Context, hidden []string) (views, error) {
	v := views{home: strings.ToLower(t.dialect.database), definitions: map[relation]string{}}
	for _, table := range hidden {
		v.hidden = append(v.hidden, strings.ToLower(table))
	}
	if len(hidden) == 0 {
		return v, nil
	}
	found, err := t.texts(ctx, viewsSQL)
	for _, view := range found {
		v.definitions[relation{strings.ToLower(view[0]), strings.ToLower(view[1])}] = view[2]
	}
	return v, err
}

// bypass is the error of a name that is a view which reads one of the hidden tables.
func (v *views) bypass(name relation) error {
	if name.database == v.home && slices.Contains(v.hidden, name.table) { // staged itself
		return nil
	}
	table, unknown := v.reads(name, map[relation]bool{})
	switch {
	case unknown:
		return &scanners.Error{
			Code: scanners.CodeStage, Hint: "GRANT SHOW VIEW ON … to the source's user, or stage " + name.table + " itself",
			Err: fmt.Errorf("%s is a view that may read the database's own tables past the staged ones: the source's user may not see its definition", name.table),
		}
	case table != "":
		return &scanners.Error{
			Code: scanners.CodeStage, Hint: "stage " + name.table + " itself",
			Err: fmt.Errorf("%s is a view over the database's own %s, which the staged one does not stand before", name.table, table),
		}
	}
	return nil
}

// reads tells which hidden table the view reads, directly or through others, or that this cannot be told. The server writes the tables of
// a definition with their database.
func (v *views) reads(view relation, seen map[relation]bool) (table string, unknown bool) {
	definition, found := v.definitions[view]
	if !found || seen[view] {
		return "", false
	}
	if definition == "" {
		return "", true
	}
	seen[view] = true
	tokens, _ := probe.Lex(definition)
	for i := 2; i < len(tokens); i++ {
		if !tokens[i-1].Is(".") {
			continue
		}
		r := relation{strings.ToLower(tokens[i-2].Name()), strings.ToLower(tokens[i].Name())}
		if r.database == v.home && slices.Contains(v.hidden, r.table) {
			return r.table, false
		}
		if table, unknown := v.reads(r, seen); unknown || table != "" {
			return table, unknown
		}
	}
	return "", false
}
