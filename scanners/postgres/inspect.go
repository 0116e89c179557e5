package postgres

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

var (
	//go:embed tables.sql
	tablesSQL string
	//go:embed table.sql
	tableSQL string
	//go:embed keys.sql
	keysSQL string
)

// Tables returns the tables and views that the user may select from, without the catalogue.
func (s *Source) Tables(ctx context.Context) ([]string, error) {
	var names []string
	err := s.inspect(ctx, func(ctx context.Context, conn *pgconn.PgConn) error {
		found, err := s.query(ctx, conn, tablesSQL)
		for _, values := range found {
			names = append(names, values[0])
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// Table describes a table in the same way as a SELECT of all its columns.
func (s *Source) Table(ctx context.Context, name string) (scanners.Table, error) {
	var table scanners.Table
	err := s.inspect(ctx, func(ctx context.Context, conn *pgconn.PgConn) (err error) {
		table, err = s.table(ctx, conn, name)
		return err
	})
	return table, err
}

func (s *Source) inspect(ctx context.Context, look func(context.Context, *pgconn.PgConn) error) error {
	conn, err := s.begin(ctx, s.timeout)
	if err != nil {
		return err
	}
	defer s.end(ctx, conn)
	ctx, cancel := context.WithTimeout(ctx, s.timeout+deadlineGrace)
	defer cancel()
	return look(ctx, conn.Conn().PgConn())
}

func (s *Source) table(ctx context.Context, conn *pgconn.PgConn, name string) (scanners.Table, error) {
	found, err := s.query(ctx, conn, tableSQL, name)
	if e, ok := errors.AsType[*scanners.Error](err); ok && !e.Transient {
		return scanners.Table{}, scanners.UnknownTable(name)
	}
	if err != nil {
		return scanners.Table{}, err
	}
	if len(found) == 0 {
		return scanners.Table{}, scanners.UnknownTable(name)
	}
	table := scanners.Table{Name: found[0][1]}
	described, err := conn.Prepare(ctx, "", "SELECT * FROM "+table.Name, nil)
	if err != nil {
		return scanners.Table{}, s.mapError(ctx, err, "")
	}
	p := &prepared{source: s}
	p.addFields(described.Fields)
	if err := p.ask(ctx, conn, described.Fields, true); err != nil {
		return scanners.Table{}, err
	}
	table.Columns = p.columns
	for i := range min(len(found), len(p.columns)) {
		table.Columns[i].Name = found[i][2]
	}
	keys, err := s.query(ctx, conn, keysSQL, found[0][0])
	addKeys(&table, keys)
	return table, err
}

// addKeys reads the columns of keys, in the order of keys.sql.
func addKeys(table *scanners.Table, keys [][]string) {
	last := ""
	for _, key := range keys {
		index, primary, column := key[0], key[1] == "t", key[2]
		switch {
		case primary:
			table.PrimaryKey = append(table.PrimaryKey, column)
		case index != last:
			table.Unique = append(table.Unique, []string{column})
		default:
			n := len(table.Unique) - 1
			table.Unique[n] = append(table.Unique[n], column)
		}
		last = index
	}
}

var _ interface {
	scanners.Source
	scanners.Explainer
	scanners.Sessions
	scanners.Inspector
} = (*Source)(nil)

// Explain asks the planner. The planner gets the arguments as in a scan.
func (s *Source) Explain(ctx context.Context, stmt *probe.Statement, args map[string]any) (scanners.Plan, error) {
	conn, err := s.begin(ctx, s.timeout)
	if err != nil {
		return scanners.Plan{}, err
	}
	defer s.end(ctx, conn)
	ctx, cancel := context.WithTimeout(ctx, s.timeout+deadlineGrace)
	defer cancel()
	p, err := s.prepare(ctx, conn.Conn().PgConn(), stmt)
	if err != nil {
		return scanners.Plan{}, err
	}
	values, err := p.encode(args)
	if err != nil {
		return scanners.Plan{}, err
	}
	result := conn.Conn().PgConn().ExecParams(ctx, "EXPLAIN (FORMAT JSON) "+p.sql, values, p.paramOIDs, nil, nil).Read()
	if result.Err != nil {
		return scanners.Plan{}, p.paramError(s.mapError(ctx, result.Err, ""), result.Err)
	}
	return readPlan(result.Rows)
}

// planNode is a step of a plan, as EXPLAIN (FORMAT JSON) writes it.
type planNode struct {
	Type     string     `json:"Node Type"`
	Join     string     `json:"Join Type"`
	Relation string     `json:"Relation Name"`
	Index    string     `json:"Index Name"`
	Function string     `json:"Function Name"`
	CTE      string     `json:"CTE Name"`
	Subplan  string     `json:"Subplan Name"`
	Cost     float64    `json:"Total Cost"`
	Plans    []planNode `json:"Plans"`
}

func readPlan(rows [][][]byte) (scanners.Plan, error) {
	var text []byte
	if len(rows) > 0 && len(rows[0]) > 0 {
		text = rows[0][0]
	}
	var explained []struct{ Plan planNode }
	if err := json.Unmarshal(text, &explained); err != nil || len(explained) == 0 {
		return scanners.Plan{}, &scanners.Error{Code: scanners.CodeFailed, Err: fmt.Errorf("the plan cannot be read: %.100s", text)}
	}
	var shape strings.Builder
	explained[0].Plan.write(&shape, 0)
	return scanners.Plan{Cost: explained[0].Plan.Cost, Shape: strings.TrimSuffix(shape.String(), "\n")}, nil
}

// write writes the step, and the steps below it, one on each line.
func (n *planNode) write(b *strings.Builder, depth int) {
	b.WriteString(strings.Repeat("  ", depth))
	if n.Subplan != "" {
		b.WriteString(n.Subplan + ": ")
	}
	b.WriteString(n.Type)
	if n.Join != "" && n.Join != "Inner" {
		b.WriteString(" (" + n.Join + ")")
	}
	for _, what := range []struct{ word, name string }{{" on ", n.Relation + n.Function + n.CTE}, {" using ", n.Index}} {
		if what.name != "" {
			b.WriteString(what.word + what.name)
		}
	}
	b.WriteByte('\n')
	for i := range n.Plans {
		n.Plans[i].write(b, depth+1)
	}
}

//go:embed dangers.sql
var dangersSQL string

// Dangers returns the dangerous functions that the user may execute, and the user's roles with rights over the server.
// It also returns the schemas whose tables the user may change. Dangerous functions act on the server, reach its files
// or another server, write, or run SQL from a text. A superuser may do everything, so the superuser is then the only
// entry.
func (s *Source) Dangers(ctx context.Context) ([]scanners.Danger, error) {
	var found [][]string
	err := s.inspect(ctx, func(ctx context.Context, conn *pgconn.PgConn) (err error) {
		found, err = s.query(ctx, conn, dangersSQL)
		return err
	})
	var dangers []scanners.Danger
	for _, values := range found {
		name, bare, arguments, schema, grantee := values[0], values[1], values[2], values[3], values[4]
		if name == "" && bare == "SUPERUSER" {
			return []scanners.Danger{{Name: "SUPERUSER", Does: "may do everything", Revoke: "ALTER ROLE " + grantee + " NOSUPERUSER;", Writes: true}}, err
		}
		if name == "" && bare == "WRITES" {
			dangers = append(dangers, writes(arguments, schema, grantee))
			continue
		}
		if name == "" {
			dangers = append(dangers, scanners.Danger{Name: bare, Does: "is a role with rights over the server", Revoke: "REVOKE " + bare + " FROM " + grantee + ";"})
			continue
		}
		does, found := dangerous(bare)
		if !found {
			continue
		}
		if grantee == "" {
			grantee = "PUBLIC"
		}
		dangers = append(dangers, scanners.Danger{
			Name: name + "(" + arguments + ")", Does: does, Revoke: "REVOKE EXECUTE ON FUNCTION " + schema + "." + quoted(bare) + "(" + arguments + ") FROM " + grantee + ";",
		})
	}
	return dangers, err
}

// writes returns the right to change tables of a schema. Probes cannot use it: their transactions are read-only.
func writes(rights, schema, grantee string) scanners.Danger {
	return scanners.Danger{
		Name: rights + " on tables of schema " + schema, Does: "changes rows",
		Revoke: "REVOKE " + rights + " ON ALL TABLES IN SCHEMA " + schema + " FROM " + cmp.Or(grantee, "PUBLIC") + ";", Writes: true,
	}
}

// dangerous returns the effect of a function that does more than read. found is false for functions that change a
// session, take locks or move a sequence. The first two effects end with the scan, a read-only transaction refuses the
// third, and a WMS needs all of these functions.
func dangerous(bare string) (does string, found bool) {
	if runsText[bare] {
		return "runs SQL that it is given as a text", true
	}
	refusal, found := probe.Refuse(bare)
	if !found || refusal.Code != probe.CodeFunction || bare == "nextval" || bare == "setval" {
		return "", false
	}
	return refusal.Does, true
}

var _ scanners.Auditor = (*Source)(nil)

// Names implements scanners.Namer.
func (*Source) Names() string {
	return `SELECT c.relname AS t, a.attname AS c FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND a.attnum > 0 AND NOT a.attisdropped AND n.nspname NOT IN ('pg_catalog', 'information_schema')`
}
