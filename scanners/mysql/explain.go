package mysql

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"tallyman/rules/probe"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// Explain asks for the plan. The cost is MySQL's own; MariaDB's EXPLAIN has none that is there for every statement, so for it the cost is the
// number of rows that the steps of the plan read, each as often as it is done.
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
		if err := t.functions(ctx, stmt); err != nil { // a plan may come of running a part of the statement
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
		form = "EXPLAIN EXTENDED " // or it leaves out filtered
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

// ask runs a statement with parameters and returns its rows by the names of the columns, NULL as "".
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

// queryCost is the cost of the outermost blocks of MySQL's plan, those of a UNION added up.
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
