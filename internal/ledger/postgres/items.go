package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/item"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/ledger/record"
	"tallyman/internal/ledger/store"
)

// pushTries bounds how often a push starts again because another push has inserted some of its items since it looked.
// Of pushes of the same items at the same time, one succeeds in each round.
const pushTries = 20

// PushItems implements item.Journal.
func (l *Ledger) PushItems(ctx context.Context, queue string, items []item.Record) ([]item.PushAnswer, error) {
	if len(items) == 0 {
		return nil, nil
	}
	id, err := l.IDs.MakeQueue(ctx, queue)
	if err != nil {
		return nil, err
	}
	again := slices.ContainsFunc(items, func(r item.Record) bool { return r.Again })
	// An item has hardly ever been pushed before. Looking for it costs as much as the unique index, which reports a
	// conflict anyway.
	for try := range pushTries {
		p := push{queue: id, plan: codec.NewPush(items), checksExisting: try > 0 || again}
		if !p.checksExisting && len(items) <= fewItems {
			err = p.insert(ctx, l)
		} else {
			err = l.inShortTxOnce(ctx, "push items", p.begin, p.write)
		}
		if err == nil {
			return p.plan.Known, nil
		}
		if !hasState(err, uniqueViolation) && !hasState(err, deadlockDetected) {
			break
		}
	}
	return nil, err
}

// push is the state of one push's transaction.
type push struct {
	queue          int64
	plan           *codec.Push
	checksExisting bool    // The transaction first reads which items exist.
	seqs           []int64 // numbers for the new items; there may be more than needed
}

// begin reads the existing items, and takes numbers for the others.
func (p *push) begin(b *pgx.Batch) {
	ids := p.plan.IDs()
	if p.checksExisting {
		b.Queue(queries.Get("by-key"))
		b.Queue(queries.Get("known-items"), p.queue, ids).Query(func(found pgx.Rows) error {
			var id, state, warehouse string
			var seq int64
			_, err := pgx.ForEachRow(found, []any{&id, &seq, &state, &warehouse}, func() error {
				return p.plan.Is(id, seq, state, warehouse)
			})
			return err
		})
	}
	b.Queue(queries.Get("take-item-seqs"), len(ids)).QueryRow(func(r pgx.Row) error { return r.Scan(&p.seqs) })
}

func (p *push) write(ctx context.Context, conn *pgx.Conn, _ *pgx.Batch) error {
	err := store.Reopen(ctx, executor{conn}, p.queue, p.plan, func(seq int64) error {
		_, err := executor{conn}.Exec(ctx, "forget-item", p.queue, seq)
		return err
	})
	if err != nil {
		return err
	}
	items := p.plan.Rows(p.seqs)
	if len(p.plan.Traces) > 0 {
		if err := copyMoves(p.plan.Traces).run(ctx, conn, "copy-item-moves"); err != nil {
			return err
		}
	}
	if err := p.copyOpen(items).run(ctx, conn, "copy-open-items"); err != nil {
		return err
	}
	return p.copyItems(items).run(ctx, conn, "copy-items")
}

// copyItems makes the rows of items. They are sorted by id: the index takes neighbours faster, and two pushes of the
// same items cannot deadlock.
func (p *push) copyItems(items []codec.Item) *copyRows {
	const fixed = 2 + 15*4 + 5*8 + 4 + 2
	size := 0
	for i := range items {
		r := &items[i]
		size += fixed + len(r.ID) + len(r.Bucket) + len(r.Key) + len(r.Subject) + len(r.By) + len(r.Node) + len(r.Payload) + len(r.Warehouse)
	}
	slices.SortFunc(items, func(a, b codec.Item) int { return strings.Compare(a.ID, b.ID) })
	out := newCopyRows(size)
	for i := range items {
		r := &items[i]
		out.row(15)
		out.int64(r.Seq)
		out.int64(r.Created)
		out.int64(r.Ready)
		out.int64(r.Until)
		out.id(p.queue)
		out.int16(r.Priority)
		for _, text := range [...]string{r.ID, r.Bucket, r.Key, r.Subject, r.By, r.Node} {
			out.text(text)
		}
		out.bytes(r.Payload)
		out.text(r.Warehouse)
		out.int64(r.Order)
	}
	return out
}

// copyOpen makes the rows of open_items.
func (p *push) copyOpen(items []codec.Item) *copyRows {
	const each = 2 + 10*4 + 5*8 + 3*4 + 1
	out := newCopyRows(each * len(items))
	for i := range items {
		r := &items[i]
		out.row(10)
		out.int64(r.Seq)
		out.int64(r.Moves)
		out.int64(r.Due)
		out.int64(r.SubjectHash)
		out.id(p.queue)
		out.int64(r.Attempt)
		out.int32(r.Failures)
		out.int32(r.Suspends)
		out.text(r.State)
		out.text(r.Assignee)
	}
	return out
}

// RefuseItems implements item.Journal.
func (l *Ledger) RefuseItems(ctx context.Context, queue string, refused []item.Refusal) error {
	if len(refused) == 0 {
		return nil
	}
	id, err := l.IDs.MakeQueue(ctx, queue)
	if err != nil {
		return err
	}
	r := codec.NewRefusals(refused)
	begin := func(b *pgx.Batch) {
		r.Trails = nil
		b.Queue(queries.Get("by-key"))
		b.Queue(queries.Get("refuse-items"), id, r.Seqs).Query(func(found pgx.Rows) error {
			_, err := pgx.ForEachRow(found, r.Columns(), r.Add)
			return err
		})
	}
	return l.inShortTx(ctx, "refuse items", begin, func(ctx context.Context, conn *pgx.Conn, _ *pgx.Batch) error {
		return copyMoves(r.Trails).run(ctx, conn, "copy-item-moves")
	})
}

// fewItems is the size up to which a push uses one INSERT. An INSERT takes one round trip, a COPY six. From about
// this size on COPY is faster.
const fewItems = 32

// insert pushes a few items with one INSERT. It is quick if none of the items exists yet.
func (p *push) insert(ctx context.Context, l *Ledger) error {
	items := p.plan.Rows(make([]int64, len(p.plan.IDs()))) // the answer has their numbers
	seqs, err := query(ctx, l, "insert-items", pgx.RowTo[int64], newItemColumns(items).args(p.queue)...)
	if err != nil {
		return err
	}
	p.plan.Rows(seqs)
	return nil
}

// itemColumns are the arguments of insert-items.
type itemColumns struct {
	created, ready, until, moves, due, subjectHashes, attempts, orders     []int64
	priorities                                                             []int16
	failures, suspends                                                     []int32
	ids, warehouses, buckets, keys, subjects, by, nodes, states, assignees []string
	payloads                                                               [][]byte
}

func newItemColumns(items []codec.Item) *itemColumns {
	c := &itemColumns{}
	for i := range items {
		r := &items[i]
		c.created = append(c.created, r.Created)
		c.ready = append(c.ready, r.Ready)
		c.until = append(c.until, r.Until)
		c.priorities = append(c.priorities, r.Priority)
		c.ids = append(c.ids, r.ID)
		c.warehouses = append(c.warehouses, r.Warehouse)
		c.orders = append(c.orders, r.Order)
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

// args returns the arguments in the order of the statement.
func (c *itemColumns) args(queue int64) []any {
	return []any{
		queue, c.created, c.ready, c.until, c.priorities, c.ids, c.buckets, c.keys, c.subjects, c.by, c.nodes, c.payloads,
		c.states, c.moves, c.due, c.subjectHashes, c.attempts, c.failures, c.suspends, c.assignees, c.warehouses, c.orders,
	}
}

// ApplyMoves implements item.Journal.
func (l *Ledger) ApplyMoves(ctx context.Context, queue, epoch string, entries []item.Moves) error {
	id, err := l.IDs.MakeQueue(ctx, queue)
	if err != nil {
		return err
	}
	lane, err := l.IDs.MakeEventLane(ctx, entries)
	if err != nil {
		return err
	}
	var position int64
	begin := func(b *pgx.Batch) {
		b.Queue(queries.Get("by-key"))
		if codec.HasOrders(entries) { // lock the audit before the queue, in the same order as SetQueuePause
			b.Queue(queries.Get("lock-audit"))
		}
		b.Queue(queries.Get("lock-queue"), id).QueryRow(func(r pgx.Row) error {
			var err error
			position, err = positionIn(r, epoch)
			return err
		})
	}
	return l.Recorder.Run(func(write store.Record) error {
		return l.inShortTx(ctx, "apply moves", begin, func(ctx context.Context, db *pgx.Conn, last *pgx.Batch) error {
			a := codec.NewApply(entries, position)
			if a.Position == position {
				return nil
			}
			if len(a.Revised) > 0 { // before the events, whose notices have the new values
				if _, err := db.Exec(ctx, queries.Get("revise-items"), append([]any{id}, revisedColumns(a.Revised)...)...); err != nil {
					return err
				}
			}
			if err := l.writeEvents(ctx, db, last, id, lane, codec.NewEvents(queue, entries[0].Events, a)); err != nil {
				return err
			}
			queueStandings(last, id, a)
			last.Queue(queries.Get("move-on"), id, epoch, a.Position)
			if err := copyMoves(a.Traces).run(ctx, db, "copy-item-moves"); err != nil {
				return err
			}
			return write(ctx, executor{db}, record.QueueChanges(a.Orders)...)
		})
	})
}

// positionIn returns the position that was last applied in the epoch. ErrFenced if the epoch is not the recorded one.
func positionIn(r pgx.Row, epoch string) (int64, error) {
	var recorded, last string
	var position int64
	err := r.Scan(&recorded, &last, &position)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && recorded != epoch {
		return 0, ledger.ErrFenced
	}
	if last != epoch {
		position = 0
	}
	return position, err
}

// copyMoves makes the rows of item_moves.
func copyMoves(traces []codec.Trail) *copyRows {
	const fixed = 2 + 3*4 + 2*8
	size := 0
	for i := range traces {
		size += fixed + len(traces[i].Moves)
	}
	out := newCopyRows(size)
	for i := range traces {
		out.row(3)
		out.int64(traces[i].Seq)
		out.int64(traces[i].At)
		out.bytes(traces[i].Moves) // the binary form of a text is its bytes
	}
	return out
}

// queueStandings adds the statements that write the new states of items.
func queueStandings(b *pgx.Batch, id int64, a *codec.Apply) {
	if len(a.Done) > 0 {
		c := columnsOf(a.Done)
		b.Queue(queries.Get("end-items"), id, c.seqs, c.moves)
	}
	if len(a.Early) > 0 {
		c := columnsOf(a.Early)
		b.Queue(queries.Get("end-items-early"), id, c.seqs, c.moves, c.states)
	}
	if len(a.Changed) > 0 {
		c := columnsOf(a.Changed)
		b.Queue(queries.Get("change-items"), id, c.seqs, c.moves, c.states, c.attempts, c.failures, c.suspends, c.dues, c.assignees,
			c.news)
	}
}

// revisedColumns returns the arguments of revise-items.
func revisedColumns(list []codec.Revised) []any {
	var seqs, moves, orders, sources []int64
	var priorities []int16
	for i := range list {
		r := &list[i]
		seqs, moves, priorities = append(seqs, r.Seq), append(moves, r.N), append(priorities, r.Priority)
		orders, sources = append(orders, r.Order), append(sources, r.Source)
	}
	return []any{seqs, moves, priorities, orders, sources}
}

// standingColumns has the columns of standings, as the statements take them.
type standingColumns struct {
	seqs, moves, dues, attempts []int64
	failures, suspends          []int32
	states, assignees, news     []string
}

func columnsOf(list []codec.Standing) standingColumns {
	var c standingColumns
	for i := range list {
		s := &list[i]
		c.seqs, c.moves, c.dues = append(c.seqs, s.Seq), append(c.moves, s.N), append(c.dues, s.Due)
		c.attempts, c.failures, c.suspends = append(c.attempts, s.Attempt), append(c.failures, s.Failures), append(c.suspends, s.Suspends)
		c.states, c.assignees = append(c.states, s.State), append(c.assignees, codec.Text(s.Assignee))
		c.news = append(c.news, s.News)
	}
	return c
}
