package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

// Explain asks the planner, which sees the arguments as a scan's would.
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

// planNode is a step of a plan as EXPLAIN (FORMAT JSON) writes it.
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

// write puts the step and those below it on lines of their own.
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
