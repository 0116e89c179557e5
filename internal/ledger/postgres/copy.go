package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
)

// copyRows collects rows in the binary form of COPY. pgx's own CopyFrom would box every value and ask the server for
// the types of the columns each time.
type copyRows struct {
	buf []byte
	n   int64
}

var (
	copyHeader  = []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	copyTrailer = []byte{0xff, 0xff}
)

// newCopyRows allocates room for about size bytes.
func newCopyRows(size int) *copyRows {
	return &copyRows{buf: append(make([]byte, 0, size+len(copyHeader)+len(copyTrailer)), copyHeader...)}
}

// row starts a row with that many columns.
func (c *copyRows) row(columns uint16) {
	c.buf = binary.BigEndian.AppendUint16(c.buf, columns)
	c.n++
}

func (c *copyRows) bool(v bool) {
	c.length(1)
	if v {
		c.buf = append(c.buf, 1)
	} else {
		c.buf = append(c.buf, 0)
	}
}

func (c *copyRows) int16(v int16) {
	c.length(2)
	c.buf = binary.BigEndian.AppendUint16(c.buf, uint16(v)) //nolint:gosec // two's complement is what COPY wants
}

func (c *copyRows) int32(v int32) {
	c.length(4)
	c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(v)) //nolint:gosec // two's complement is what COPY wants
}

// id writes an id of a lane, queue or scope, which is an int32 in the database.
func (c *copyRows) id(v int64) { c.int32(int32(v)) } //nolint:gosec // it came from such a column

func (c *copyRows) int64(v int64) {
	c.length(8)
	c.buf = binary.BigEndian.AppendUint64(c.buf, uint64(v)) //nolint:gosec // two's complement is what COPY wants
}

func (c *copyRows) text(s string) {
	c.length(len(s))
	c.buf = append(c.buf, s...)
}

func (c *copyRows) bytes(b []byte) {
	c.length(len(b))
	c.buf = append(c.buf, b...)
}

func (c *copyRows) null() {
	c.buf = append(c.buf, 0xff, 0xff, 0xff, 0xff)
}

func (c *copyRows) length(n int) {
	c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(n)) //nolint:gosec // a column is far below 2 GB
}

// run sends the rows with the COPY statement of that name, within the connection's transaction.
func (c *copyRows) run(ctx context.Context, conn *pgx.Conn, name string) error {
	if c.n == 0 {
		return nil
	}
	tag, err := conn.PgConn().CopyFrom(ctx, bytes.NewReader(append(c.buf, copyTrailer...)), queries.Get(name))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if tag.RowsAffected() != c.n {
		return fmt.Errorf("%s: %d of %d rows were written", name, tag.RowsAffected(), c.n)
	}
	return nil
}

// copyDeliveries makes the rows of the deliveries.
func (w *noticeWriter) copyDeliveries(deliveries []codec.Delivery, seqs []int64) *copyRows {
	const fixed = 2 + 5*4 + 8 + 8 + 4
	size := 0
	for _, d := range deliveries {
		size += fixed + len(w.plan.Notices[d.Notice].ID) + len(d.Recipients)
	}
	out := newCopyRows(size)
	for i, d := range deliveries {
		n := &w.plan.Notices[d.Notice]
		out.row(5)
		out.int64(seqs[i])
		out.int64(d.Expires)
		out.id(w.lanes[d.Lane])
		out.text(n.ID)
		out.text(d.Recipients)
	}
	return out
}

// copyNotices makes the rows of the notices, each with the first and the last number of its deliveries. The rows are
// sorted by id, because the index takes neighbours faster and ids are random otherwise.
func (w *noticeWriter) copyNotices(deliveries []codec.Delivery, seqs []int64) *copyRows {
	const fixed = 2 + 12*4 + 5*8 + 2
	size := 0
	order := make([]int, len(w.plan.Notices))
	for i := range w.plan.Notices {
		n := &w.plan.Notices[i]
		size += fixed + len(n.ID) + len(n.Type) + len(n.Rule) + len(n.Status) + len(n.Body) + len(n.Warehouse)
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(w.plan.Notices[a].ID, w.plan.Notices[b].ID) })
	spans := spansOf(len(w.plan.Notices), deliveries, seqs)
	out := newCopyRows(size)
	for _, i := range order {
		n := &w.plan.Notices[i]
		out.row(12)
		out.text(n.ID)
		out.text(n.Type)
		out.text(n.Rule)
		out.text(string(n.Status))
		out.int64(codec.Micros(n.CreatedAt))
		out.int64(codec.Micros(n.ExpiresAt))
		out.int64(spans[i].first)
		out.int64(spans[i].last)
		out.bytes(n.Body)
		if codec.IsOrdered(n.Notice) {
			out.int64(codec.FindingOf(n.Notice))
		} else {
			out.null()
		}
		out.text(n.Warehouse)
		out.int16(int16(n.Priority)) //nolint:gosec // 1 … 5
	}
	return out
}

// copyPushes makes the rows of the deliveries to push channels.
func (w *noticeWriter) copyPushes(deliveries []codec.Delivery, seqs []int64) *copyRows {
	const size = 2 + 14*4 + 10*8 + 2*4 + 9 + 8
	out := newCopyRows(0)
	for i, d := range deliveries {
		p := d.Push
		if p == nil {
			continue
		}
		if out.n == 0 {
			out = newCopyRows(size * (len(deliveries) - i))
		}
		out.row(14)
		out.int64(seqs[i])
		out.int64(p.Due)
		out.int64(p.First)
		out.int64(p.Deadline)
		out.int64(p.Ends)
		if p.Finding == nil {
			out.null()
		} else {
			out.int64(*p.Finding)
		}
		out.int64(p.Addressee)
		out.id(w.lanes[d.Lane])
		out.text(p.Kind)
		out.text(p.Unless)
		out.int64(p.Delay)
		out.int64(p.At)
		out.int64(p.Within)
		out.int32(p.Retry)
	}
	return out
}

// span has the first and the last number of a notice's deliveries; 0 = the notice has none.
type span struct{ first, last int64 }

// spansOf returns the span of each notice. seqs must ascend.
func spansOf(notices int, deliveries []codec.Delivery, seqs []int64) []span {
	out := make([]span, notices)
	for i, d := range deliveries {
		s := &out[d.Notice]
		if s.first == 0 {
			s.first = seqs[i]
		}
		s.last = seqs[i]
	}
	return out
}

// findingChanges groups the changes of findings by operation.
type findingChanges struct {
	scopeID int32
	due     int64 // due time of the run
	inserts *copyRows
	updates findingColumns
	deletes []pgtype.UUID
}

// findingColumns are the arguments of update-findings.
type findingColumns struct {
	hashes                                             []pgtype.UUID
	phases, priorities                                 []int16
	ordinals                                           []int32
	episodes, seen, absentSince, firingSince, notified []int64
	notices, groups, silenced, watched, warehouses     []string
	baselines                                          []bool
	terms                                              []int64
	rows                                               [][]byte
}

func newFindingChanges(scopeID int32, due int64, run *ledger.Commit) *findingChanges {
	size, changes, warehouses := 0, run.Findings, codec.Warehouses(run)
	for i := range changes {
		if changes[i].Op == ledger.Insert {
			c := &changes[i]
			size += 2 + 19*4 + 4 + 16 + 2 + 2 + 4 + 1 + 7*8 + len(c.Key) + len(c.NoticeID) + len(c.Group) + len(c.Silenced) + len(c.Watched) + len(warehouses[c.NoticeID]) + len(c.Row)
		}
	}
	out := &findingChanges{scopeID: scopeID, due: due, inserts: newCopyRows(size)}
	for _, k := range sortedKeys(changes) {
		f := codec.NewFinding(&changes[k.at].State)
		f.Warehouse = warehouses[f.NoticeID]
		switch changes[k.at].Op {
		case ledger.Insert:
			out.insert(&f, k.hash, changes[k.at].Row)
		case ledger.Update:
			out.updates.add(&f, k.hash, changes[k.at].Row)
		case ledger.Delete:
			out.deletes = append(out.deletes, k.hash)
		}
	}
	return out
}

// hashedKey is the hash of a change's key, with the index of the change.
type hashedKey struct {
	hash pgtype.UUID
	at   int
}

// sortedKeys returns the hashes of the keys in the order of the index, which takes neighbours faster.
func sortedKeys(changes []ledger.FindingChange) []hashedKey {
	out := make([]hashedKey, len(changes))
	for i := range changes {
		out[i] = hashedKey{keyHash(changes[i].Key), i}
	}
	slices.SortFunc(out, func(a, b hashedKey) int { return bytes.Compare(a.hash.Bytes[:], b.hash.Bytes[:]) })
	return out
}

// keyHash returns the hash that identifies a key in the index.
func keyHash(key string) pgtype.UUID {
	return pgtype.UUID{Bytes: finding.HashOf(key), Valid: true}
}

func (c *findingChanges) insert(f *codec.Finding, hash pgtype.UUID, seen []byte) {
	r := c.inserts
	r.row(20)
	r.int32(c.scopeID)
	r.bytes(hash.Bytes[:])
	r.int16(f.Phase)
	r.int16(f.Priority)
	r.int32(f.Ordinal)
	r.int64(f.Episode)
	r.int64(f.SinceClock)
	r.int64(f.AbsentSince)
	r.int64(f.FiringSince)
	r.int64(f.LastNotified)
	r.text(f.Key)
	r.text(f.NoticeID)
	r.text(f.Group)
	r.text(f.Silenced)
	r.text(f.Watched)
	r.bool(f.Baseline)
	r.text(f.Warehouse)
	r.int64(f.Term)
	if seen == nil {
		r.null()
		r.int64(0)
		return
	}
	r.bytes(seen)
	r.int64(c.due)
}

func (c *findingColumns) add(f *codec.Finding, hash pgtype.UUID, seen []byte) {
	c.hashes = append(c.hashes, hash)
	c.phases = append(c.phases, f.Phase)
	c.priorities = append(c.priorities, f.Priority)
	c.ordinals = append(c.ordinals, f.Ordinal)
	c.episodes = append(c.episodes, f.Episode)
	c.seen = append(c.seen, f.SinceClock)
	c.absentSince = append(c.absentSince, f.AbsentSince)
	c.firingSince = append(c.firingSince, f.FiringSince)
	c.notified = append(c.notified, f.LastNotified)
	c.notices = append(c.notices, f.NoticeID)
	c.groups = append(c.groups, f.Group)
	c.silenced = append(c.silenced, f.Silenced)
	c.watched = append(c.watched, f.Watched)
	c.baselines = append(c.baselines, f.Baseline)
	c.warehouses = append(c.warehouses, f.Warehouse)
	c.terms = append(c.terms, f.Term)
	c.rows = append(c.rows, seen)
}

// queue adds the statements for the changes.
func (c *findingChanges) queue(b *pgx.Batch) {
	if u := &c.updates; len(u.hashes) > 0 {
		b.Queue(queries.Get("update-findings"), c.scopeID, u.hashes, u.phases, u.priorities, u.ordinals, u.episodes, u.seen,
			u.absentSince, u.firingSince, u.notified, u.notices, u.groups, u.silenced, u.watched, u.baselines, u.warehouses, u.terms, u.rows, c.due).Exec(all(len(u.hashes), "update"))
	}
	if len(c.deletes) > 0 {
		b.Queue(queries.Get("delete-findings"), c.scopeID, c.deletes).Exec(all(len(c.deletes), "delete"))
	}
}

// all fails the commit unless the statement changed every finding that it should change.
func all(want int, what string) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		if got := tag.RowsAffected(); got != int64(want) {
			return fmt.Errorf("%s findings: the ledger has only %d of %d", what, got, want)
		}
		return nil
	}
}
