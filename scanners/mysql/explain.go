package mysql

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"tallyman/rules/probe"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// Explain asks for the plan. On MySQL the cost is the server's own. MariaDB's EXPLAIN does not give a cost for every
// statement. So on MariaDB the cost is the number of rows that the steps of the plan read, each multiplied by how often
// the step runs.
func (s *Source) Explain(ctx context.Context, stmt *probe.Statement, args map[string]any) (scanners.Plan, error) {
	if err := sqldb.Refuse(stmt, probe.MySQL(stmt.Text)); err != nil {
		return scanners.Plan{}, err
	}
	text, order := stmt.Render(s.dialect.Style())
	bound, err := sqldb.Bind(s.dialect, args, order)
	if err != nil {
		return scanners.Plan{}, err
	}
	var plan scanners.Plan
	err = s.look(ctx, func(ctx context.Context, t *transaction) error {
		if err := t.functions(ctx, stmt); err != nil { // planning may run a part of the statement
			return err
		}
		plan, err = t.explain(ctx, text, bound)
		return t.dialect.prepareError(err, stmt, text)
	})
	return plan, err
}

func (t *transaction) explain(ctx context.Context, text string, args []any) (scanners.Plan, error) {
	form := "EXPLAIN "
	if t.maria {
		form = "EXPLAIN EXTENDED " // EXPLAIN alone leaves out the column filtered
	}
	found, err := t.ask(ctx, form+text, args)
	if err != nil {
		return scanners.Plan{}, err
	}
	steps := stepsOf(found)
	plan := scanners.Plan{Cost: rowsRead(steps), Shape: shape(steps)}
	if t.maria {
		return plan, nil
	}
	if found, err = t.ask(ctx, "EXPLAIN FORMAT=JSON "+text, args); err != nil {
		return scanners.Plan{}, err
	}
	for _, row := range found {
		var document any
		if err := json.Unmarshal([]byte(row["EXPLAIN"]), &document); err != nil {
			return scanners.Plan{}, fmt.Errorf("the plan cannot be read: %w", err)
		}
		plan.Cost = queryCost(document)
	}
	return plan, nil
}

// ask runs a statement with parameters, and returns its rows by column names. NULL is "".
func (t *transaction) ask(ctx context.Context, text string, args []any) ([]map[string]string, error) {
	stmt, err := t.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stmt.Close() }()
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	names, values, err := readTexts(rows)
	if err != nil {
		return nil, err
	}
	found := make([]map[string]string, len(values))
	for i, texts := range values {
		found[i] = map[string]string{}
		for j, text := range texts {
			found[i][names[j]] = text
		}
	}
	return found, nil
}

// queryCost returns the cost of the outermost blocks of MySQL's plan. The costs of a UNION's parts are added up.
func queryCost(node any) (cost float64) {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			cost += queryCost(child)
		}
	case map[string]any:
		if info, ok := n["cost_info"].(map[string]any); ok {
			if text, ok := info["query_cost"].(string); ok {
				cost, _ = strconv.ParseFloat(text, 64)
				return cost
			}
		}
		for _, child := range n {
			cost += queryCost(child)
		}
	}
	return cost
}

// step is one line of an EXPLAIN: one table that is read. Within a block, each step runs once for each row of the step
// before.
type step struct {
	block    string // the number of the block
	kind     string // SIMPLE, PRIMARY, DERIVED …
	table    string
	access   string // ALL, ref, const …
	key      string
	extra    string
	rows     float64
	filtered float64 // the part of the rows that is kept, 0 … 1
}

func stepsOf(found []map[string]string) []step {
	var steps []step
	for _, f := range found {
		s := step{block: f["id"], kind: f["select_type"], table: f["table"], access: f["type"], key: f["key"], extra: f["Extra"], filtered: 1}
		s.rows, _ = strconv.ParseFloat(f["rows"], 64)
		if percent, err := strconv.ParseFloat(f["filtered"], 64); err == nil {
			s.filtered = percent / 100
		}
		steps = append(steps, s)
	}
	return steps
}

// shape returns a line for each block, and below it a line for each of its tables.
func shape(steps []step) string {
	var lines []string
	for i, s := range steps {
		if i == 0 || s.block != steps[i-1].block || s.kind != steps[i-1].kind {
			lines = append(lines, s.kind)
		}
		words := []string{" ", cmp.Or(s.access, "none")}
		for _, word := range []string{s.table, s.key} {
			if word != "" {
				words = append(words, word)
			}
		}
		for what := range strings.SplitSeq(s.extra, "; ") {
			if what == "Using temporary" || what == "Using filesort" || strings.HasPrefix(what, "Using join buffer") {
				words = append(words, "("+what+")")
			}
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return strings.Join(lines, "\n")
}

// rowsRead returns how many rows the plan reads. A block that depends on the first block runs once for each of that
// block's rows.
func rowsRead(steps []step) (total float64) {
	var main, out float64 = 1, 1
	for i, s := range steps {
		if i == 0 || s.block != steps[i-1].block {
			out = 1
			if strings.HasPrefix(s.kind, "DEPENDENT") || strings.HasPrefix(s.kind, "UNCACHEABLE") || strings.HasPrefix(s.kind, "LATERAL") {
				out = max(main, 1)
			}
		}
		total += out * s.rows
		out *= s.rows * s.filtered
		if s.block == steps[0].block {
			main = out
		}
	}
	return total
}
