package authoring

import (
	"context"
	"strings"
	"sync"
	"time"

	"tallyman/rules"
	"tallyman/rules/problem"
	"tallyman/rules/row"
	"tallyman/scanners"
)

// Warnings returns the warnings of `rules check` about scopes of a rule that the node runs. Warnings about columns need
// a rule that was verified. Warnings about the SQL need a source that answers within typeWait.
func (n *Node) Warnings(ctx context.Context, scopes []*rules.Rule) problem.List {
	var l problem.List
	for _, r := range scopes {
		l = append(l, rules.Lint(r)...)
		if columns := n.Engine.Columns(r); columns != nil {
			l = append(l, rules.LintColumns(r, columns)...)
		}
		l = append(l, initialLint(ctx, n.Ledger, r)...)
		l = append(l, rules.LintSQL(r, func(questions []string) *row.Column { return n.columnType(ctx, r.Source, questions) })...)
	}
	return rules.Tidy(l)
}

// The bounds of asking sources for the types of columns, beside the runs of rules.
const (
	typeWait  = 2 * time.Second  // How long one answer may take.
	typeHolds = 10 * time.Minute // How long an answer is kept. A missing answer is kept for a twentieth of this time.
	mostTypes = 10_000           // How many answers are kept.
)

// columnType returns the type of a column of a source, and nil where it is not known. It keeps answers for a while.
func (n *Node) columnType(ctx context.Context, source string, questions []string) *row.Column {
	key := source + "\x00" + strings.Join(questions, "\x00")
	if kept, ok := n.types.get(key); ok {
		return kept.column
	}
	ctx, cancel := context.WithTimeout(ctx, typeWait)
	defer cancel()
	release, err := n.Engine.Room(ctx, source)
	if err != nil {
		return n.types.put(key, keptType{gone: true})
	}
	defer release()
	column, err := scanners.AskColumn(ctx, n.Sources[source], questions)
	return n.types.put(key, keptType{column: column, gone: scanners.IsTransient(err) || ctx.Err() != nil})
}

// keptType is the answer of a source about a column.
type keptType struct {
	column *row.Column // nil where the source does not know the column.
	gone   bool        // The source did not answer.
	at     time.Time
}

// columnTypes keeps the answers of sources, so that open pages of the console, which ask again and again, do not load
// the sources. The zero value is ready to use.
type columnTypes struct {
	mu   sync.Mutex
	kept map[string]keptType
}

func (c *columnTypes) get(key string) (keptType, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.kept[key]
	holds := typeHolds
	if k.gone {
		holds = typeHolds / 20
	}
	return k, ok && time.Since(k.at) < holds
}

func (c *columnTypes) put(key string, k keptType) *row.Column {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= mostTypes {
		c.kept = map[string]keptType{}
	}
	k.at = time.Now()
	c.kept[key] = k
	return k.column
}
