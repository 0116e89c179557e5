package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger/rows"
)

// fewItems go in by one INSERT: one round trip, where COPY needs six. From about so many on COPY is the faster.
const fewItems = 32

// insert pushes a few items, of which none is thought to be there already.
func (p *push) insert(ctx context.Context, l *Ledger) error {
	items := p.plan.Rows(make([]int64, len(p.plan.IDs()))) // their numbers come with the answer
	seqs, err := query(ctx, l, "insert-items", pgx.RowTo[int64], newItemColumns(items).args(p.queue)...)
	if err != nil {
		return err
	}
	p.plan.Rows(seqs)
	return nil
}

// itemColumns are the arguments of insert-items.
type itemColumns struct {
	created, ready, until, moves, due, subjectHashes, attempts             []int64
	priorities                                                             []int16
	failures, suspends                                                     []int32
	ids, warehouses, buckets, keys, subjects, by, nodes, states, assignees []string
	payloads                                                               [][]byte
}

func newItemColumns(items []rows.Item) *itemColumns {
	c := &itemColumns{}
	for i := range items {
		r := &items[i]
		c.created = append(c.created, r.Created)
		c.ready = append(c.ready, r.Ready)
		c.until = append(c.until, r.Until)
		c.priorities = append(c.priorities, r.Priority)
		c.ids = append(c.ids, r.ID)
		c.warehouses = append(c.warehouses, r.Warehouse)
		c.buckets = append(c.buckets, r.Bucket)
		c.keys = append(c.keys, r.Key)
		c.subjects = append(c.subjects, r.Subject)
		c.by = append(c.by, r.By)
		c.nodes = append(c.nodes, r.Node)
		c.payloads = append(c.payloads, r.Payload)
		c.states = append(c.states, r.State)
		c.moves = append(c.moves, r.Moves)
		c.due = append(c.due, r.Due)
		c.subjectHashes = append(c.subjectHashes, r.SubjectHash)
		c.attempts = append(c.attempts, r.Attempt)
		c.failures = append(c.failures, r.Failures)
		c.suspends = append(c.suspends, r.Suspends)
		c.assignees = append(c.assignees, r.Assignee)
	}
	return c
}

// args are the arguments in the order of the statement.
func (c *itemColumns) args(queue int32) []any {
	return []any{
		queue, c.created, c.ready, c.until, c.priorities, c.ids, c.buckets, c.keys, c.subjects, c.by, c.nodes, c.payloads,
		c.states, c.moves, c.due, c.subjectHashes, c.attempts, c.failures, c.suspends, c.assignees, c.warehouses,
	}
}
