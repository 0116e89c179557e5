package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

var (
	//go:embed trees_on.sql
	treesOnSQL string
	//go:embed trees_off.sql
	treesOffSQL string
	//go:embed functions.sql
	functionsSQL string
)

// mostFunctions is how many functions in SQL a statement may reach. The body of each is judged.
const mostFunctions = 200

// resolution collects the functions, tables, views and types that a statement uses. The server names them before it
// plans or runs anything.
type resolution struct {
	source *Source
	conn   *pgconn.PgConn

	functions, relations, types []uint32        // functions: without PostgreSQL's own
	judged                      map[uint32]bool // the functions that were judged already
	// the statement calls a function that the configuration allows; such a function may leave something in the session
	leaves      bool
	constraints map[string]bool // constraints of domains, as trees
	calls       []scanners.Call
	bodies      int // how many bodies of functions in SQL were judged
}

// describe lets the server parse the statement. Parsing also rewrites it: views are expanded and names are resolved,
// but nothing is planned or run. Then describe refuses the statement if it calls a function that may do more than read.
func (s *Source) describe(ctx context.Context, conn *pgconn.PgConn, stmt *probe.Statement, sql string) (*pgconn.StatementDescription, *resolution, error) {
	r := &resolution{source: s, conn: conn, judged: map[uint32]bool{}, constraints: map[string]bool{}}
	var described *pgconn.StatementDescription
	trees, err := r.listen(ctx, func() (err error) {
		if described, err = conn.Prepare(ctx, "", sql, nil); err == nil {
			return nil
		}
		mapped := s.mapError(ctx, err, sql)
		if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok && pgErr.Position > 0 {
			mapped.At = stmt.Place(probe.Dollar, int(pgErr.Position))
		}
		return mapped
	})
	if e, ok := errors.AsType[*scanners.Error](err); ok && e.Code == scanners.CodeTooLarge {
		return nil, nil, unresolved("its query tree is too large: "+e.Err.Error(), "raise max_row_bytes of the source, or write the probe with fewer values and smaller views")
	}
	if err != nil {
		return nil, nil, err
	}
	if len(trees) == 0 {
		return nil, nil, unresolved("no query tree came from the server", "connect directly or through PgBouncer: both pass on debug_print_rewritten and its messages")
	}
	if err := r.look(ctx, trees, ""); err != nil {
		return nil, nil, err
	}
	r.tellApart(stmt)
	return described, r, s.functions.Refuse(stmt, r.calls)
}

// unresolved returns the error of a statement whose functions are not known. Such a statement does not run.
func unresolved(what, hint string) *scanners.Error {
	return &scanners.Error{Code: scanners.CodeUnresolved, Hint: hint, Err: errors.New("the functions of the probe cannot be looked up: " + what)}
}

// listen makes the server send the query tree of each statement that ask makes it parse. listen returns the trees.
func (r *resolution) listen(ctx context.Context, ask func() error) ([]string, error) {
	if err := r.source.execute(ctx, r.conn, treesOnSQL); err != nil {
		e, ok := errors.AsType[*scanners.Error](err)
		if !ok || e.Transient {
			return nil, err
		}
		return nil, unresolved("the server refuses the setting: "+cause(err), "the source must be a PostgreSQL server on which every user may change the setting debug_print_rewritten")
	}
	heard := &hearing{}
	r.conn.CustomData()[hearingKey] = heard
	err := ask()
	delete(r.conn.CustomData(), hearingKey)
	if err != nil {
		return nil, err
	}
	return heard.trees, r.source.execute(ctx, r.conn, treesOffSQL)
}

// hearing collects the trees that arrive on a connection.
type hearing struct{ trees []string }

const hearingKey = "tallyman trees"

// hear handles the messages of all connections.
func hear(conn *pgconn.PgConn, n *pgconn.Notice) {
	if heard, ok := conn.CustomData()[hearingKey].(*hearing); ok && n.Message == "rewritten parse tree:" {
		heard.trees = append(heard.trees, n.Detail)
	}
}

// Objects with OIDs below firstNormal belong to PostgreSQL: initdb has created them. OIDs below firstGenerated are the
// same in every database of every version.
const (
	firstNormal    = 16384
	firstGenerated = 10000
)

// isInitial tells whether an operator or type is PostgreSQL's own. A test checks that none of these calls a function
// that probes may not call.
func isInitial(oid uint32) bool { return oid < firstNormal }

// isKnown tells whether the function was judged as allowed for every statement.
func (s *Source) isKnown(oid uint32) bool {
	_, found := s.known.Load(oid)
	return found
}

// look judges the names in the trees, and the objects behind them. caller is the function whose body the trees are, or
// "" for the statement itself.
func (r *resolution) look(ctx context.Context, trees []string, caller string) error {
	var functions, operators, types []uint32
	for _, text := range trees {
		t, err := readTree(text)
		if err != nil {
			return unresolved(err.Error(), "this version of PostgreSQL is newer than this version of Tallyman: write the probe without SQL features of the newer version")
		}
		if slices.ContainsFunc(t.commands, func(c uint32) bool { return c != selects }) {
			if caller == "" {
				return &scanners.Error{Code: scanners.CodeReadOnly, Hint: "a probe only reads", Err: errors.New("the statement is more than a SELECT")}
			}
			r.refuse(scanners.Call{Name: caller, Why: "writes"})
		}
		functions, operators, types = append(functions, t.functions...), append(operators, t.operators...), append(types, t.types...)
		r.relations = append(r.relations, t.relations...)
	}
	functions = slices.DeleteFunc(functions, r.source.isKnown)
	operators, types = slices.DeleteFunc(operators, isInitial), slices.DeleteFunc(types, isInitial)
	if len(functions)+len(operators)+len(types) == 0 {
		return nil
	}
	r.types = append(r.types, types...)
	found, err := r.source.query(ctx, r.conn, functionsSQL, oids(functions), oids(operators), oids(types))
	if err != nil {
		return err
	}
	var constraints []string
	for _, values := range found {
		if values[0] == "0" {
			if !r.constraints[values[1]] {
				r.constraints[values[1]] = true
				constraints = append(constraints, values[1])
			}
			continue
		}
		if err := r.function(ctx, values, caller); err != nil {
			return err
		}
	}
	if len(constraints) == 0 {
		return nil
	}
	return r.look(ctx, constraints, caller)
}

// function judges a function once. A function in SQL is judged by its body.
func (r *resolution) function(ctx context.Context, values []string, caller string) error {
	oid, err := strconv.ParseUint(values[0], 10, 32)
	if err != nil {
		return unresolved("the catalogue answers "+values[0], "")
	}
	if r.judged[uint32(oid)] {
		return nil
	}
	r.judged[uint32(oid)] = true
	f := function{
		name: values[1], bare: values[2], builtin: values[3] == "t", volatile: values[4] == "v", language: values[5], ownersRights: values[6] == "t", path: values[7],
	}
	if f.name == "" {
		return &scanners.Error{Code: scanners.CodeFailed, Transient: true, Err: fmt.Errorf("function %s was dropped while the probe was prepared", values[0])}
	}
	if !f.builtin {
		r.functions = append(r.functions, uint32(oid))
	}
	if r.source.functions.Allows(f.name) {
		r.leaves = true
		return nil
	}
	why, hint := f.judge()
	switch {
	case why == "" && f.builtin && oid < firstGenerated:
		r.source.known.Store(uint32(oid), true)
	case why == "" && f.isSQL():
		return r.body(ctx, values[0], f)
	case why != "" && caller != "" && caller != f.name:
		r.refuse(scanners.Call{Name: caller, Why: "calls " + f.name + ", which " + why, Hint: hint})
	case why != "":
		r.refuse(scanners.Call{Name: f.name, Why: why, Hint: hint})
	}
	return nil
}

func (r *resolution) refuse(call scanners.Call) {
	if !slices.ContainsFunc(r.calls, func(c scanners.Call) bool { return c.Name == call.Name }) {
		r.calls = append(r.calls, call)
	}
}

// body judges a function in SQL. The server's own validator parses the body, as at the creation of the function, and
// does not run the body.
func (r *resolution) body(ctx context.Context, oid string, f function) error {
	if r.bodies++; r.bodies > mostFunctions {
		return unresolved(fmt.Sprintf("it reaches more than %d functions in SQL", mostFunctions), "list the functions that the probe itself calls under functions of the source")
	}
	s := r.source
	if err := s.execute(ctx, r.conn, "SAVEPOINT body"); err != nil {
		return err
	}
	trees, err := r.validate(ctx, oid, f.path)
	if undone := s.execute(ctx, r.conn, "ROLLBACK TO SAVEPOINT body; RELEASE SAVEPOINT body"); undone != nil {
		return undone
	}
	if e, ok := errors.AsType[*scanners.Error](err); ok && e.Transient {
		return err
	}
	switch {
	case err != nil:
		r.refuse(scanners.Call{Name: f.name, Why: "cannot be checked by the server: " + cause(err)})
		return nil
	case len(trees) == 0:
		r.refuse(scanners.Call{Name: f.name, Why: "has polymorphic arguments, so the server cannot tell what it calls"})
		return nil
	}
	return r.look(ctx, trees, f.name)
}

// cause returns an error without its code.
func cause(err error) string {
	if e, ok := errors.AsType[*scanners.Error](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// validate returns the trees of a function's body. Names are resolved with the search_path that the function sets.
func (r *resolution) validate(ctx context.Context, oid, path string) ([]string, error) {
	if path != "" {
		if _, err := r.source.query(ctx, r.conn, "SELECT pg_catalog.set_config('search_path', $1, true)", path); err != nil {
			return nil, err
		}
	}
	trees, err := r.listen(ctx, func() error {
		result := r.conn.ExecParams(ctx, "SELECT pg_catalog.fmgr_sql_validator($1::pg_catalog.oid)", [][]byte{[]byte(oid)}, nil, nil, nil).Read()
		if result.Err != nil {
			return r.source.mapError(ctx, result.Err, "")
		}
		return nil
	})
	return trees[min(1, len(trees)):], err // the first tree is of the validator's call
}

// tellApart explains the origin of each function whose name is not in the statement's text.
func (r *resolution) tellApart(stmt *probe.Statement) {
	tokens, _ := probe.Lex(stmt.Text)
	for i := range r.calls {
		c := &r.calls[i]
		bare := strings.Trim(c.Name[strings.LastIndexByte(c.Name, '.')+1:], `"`)
		if !slices.ContainsFunc(tokens, func(t probe.Token) bool { return strings.EqualFold(t.Name(), bare) }) {
			c.Why += " (called by a view, a policy, an operator, a type or another function of the probe)"
		}
	}
}

func oids(list []uint32) string {
	texts := make([]string, len(list))
	for i, oid := range list {
		texts[i] = strconv.FormatUint(uint64(oid), 10)
	}
	return "{" + strings.Join(texts, ",") + "}"
}
