package mysql

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

var (
	//go:embed routines.sql
	routinesSQL string
	//go:embed definitions.sql
	definitionsSQL string
)

// mostNames is how many names one query looks up.
const mostNames = 500

// calls finds the functions that a statement calls. It looks at the text of the statement, and at the definitions of
// the views in it, as far as the user may see the definitions. The server has no better way to list the functions.
type calls struct {
	t         *transaction
	functions scanners.Functions
	called    map[relation]bool // names that were looked up as functions
	named     map[relation]bool // names that were looked up as views
	refused   []scanners.Call
}

// functions refuses a statement that calls a function that may do more than read. functions runs before the server
// prepares the statement.
func (t *transaction) functions(ctx context.Context, stmt *probe.Statement) error {
	c := &calls{t: t, functions: t.dialect.functions, called: map[relation]bool{}, named: map[relation]bool{}}
	tokens, _ := probe.Lex(stmt.Text)
	if err := c.look(ctx, tokens, strings.ToLower(t.dialect.database)); err != nil {
		return err
	}
	return c.functions.Refuse(stmt, c.refused)
}

// look judges the functions that the tokens call, and the views that they name. A name without a database belongs to
// the database home.
func (c *calls) look(ctx context.Context, tokens []probe.Token, home string) error {
	var called, named []relation
	for i := range tokens {
		name, isQualified := nameAt(tokens, i, home)
		if name.table == "" {
			continue
		}
		if add(c.named, name) {
			named = append(named, name)
		}
		if i+1 == len(tokens) || !tokens[i+1].Is("(") {
			continue
		}
		if add(c.called, name) {
			called = append(called, name)
		}
		if !isQualified {
			c.builtin(name.table)
		}
	}
	if err := c.stored(ctx, called); err != nil {
		return err
	}
	return c.views(ctx, named)
}

// add adds a name to the names, and tells whether the name is new.
func add(names map[relation]bool, name relation) bool {
	isNew := !names[name]
	names[name] = true
	return isNew
}

// builtin judges a function of the server itself.
func (c *calls) builtin(name string) {
	why, found := probe.Refuse(name)
	if waits[name] {
		why, found = probe.Refusal{Does: "waits, and holds its connection"}, true
	}
	if found {
		c.refuse(scanners.Call{Name: name, Why: why.Does, Hint: why.Hint})
	}
}

func (c *calls) refuse(call scanners.Call) {
	isRefused := slices.ContainsFunc(c.refused, func(other scanners.Call) bool { return other.Name == call.Name })
	if !isRefused && !c.functions.Allows(call.Name) {
		c.refused = append(c.refused, call)
	}
}

// waits has functions of the server that only wait, or keep the server busy.
var waits = map[string]bool{
	"sleep": true, "benchmark": true, "master_pos_wait": true, "source_pos_wait": true, "master_gtid_wait": true,
	"wait_for_executed_gtid_set": true, "wait_until_sql_thread_after_gtids": true,
}

// stored judges the stored functions among the names, by their SQL DATA ACCESS clause.
func (c *calls) stored(ctx context.Context, called []relation) error {
	found, err := c.find(ctx, routinesSQL, called)
	for _, values := range found {
		call := scanners.Call{Name: strings.ToLower(values[0] + "." + values[1])}
		switch access := values[2]; access {
		case "READS SQL DATA", "NO SQL":
			continue
		case "MODIFIES SQL DATA":
			call.Why = "is declared as MODIFIES SQL DATA"
		default:
			call.Why = "is not declared as READS SQL DATA or NO SQL"
			call.Hint = "ALTER FUNCTION " + call.Name + " READS SQL DATA"
		}
		c.refuse(call)
	}
	return err
}

// views judges the definitions of the views among the names.
func (c *calls) views(ctx context.Context, named []relation) error {
	found, err := c.find(ctx, definitionsSQL, named)
	if err != nil {
		return err
	}
	for _, values := range found {
		if err := c.look(ctx, lexDefinition(values[2]), strings.ToLower(values[0])); err != nil {
			return err
		}
	}
	return nil
}

// find looks the names up in the catalogue. The server compares them, because it also finds a function whose name
// differs in accents: plaîn() calls plain.
func (c *calls) find(ctx context.Context, query string, names []relation) ([][]string, error) {
	const pair = "(?, ?)"
	var found [][]string
	for some := range slices.Chunk(names, mostNames) {
		var args []any
		for _, name := range some {
			args = append(args, name.database, name.table)
		}
		rows, err := c.t.texts(ctx, strings.Replace(query, pair, pair+strings.Repeat(", "+pair, len(some)-1), 1), args...)
		if err != nil {
			return nil, err
		}
		found = append(found, rows...)
	}
	return found, nil
}
