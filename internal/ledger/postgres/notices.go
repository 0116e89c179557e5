package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
	"tallyman/internal/notice"
)

// overReason is the reason in the records of deliveries that are canceled because their findings are over.
const overReason = "the finding is over"

// noticeWriter writes the notices of a plan and their deliveries, in a transaction of its caller. The sequence is
// newNotices, ask, write, cancel, release.
type noticeWriter struct {
	ledger         *Ledger
	plan           *codec.Plan
	lanes          []int64      // ids of plan.Lanes
	encoded        func() error // waits for the bodies of the notices
	checksExisting bool         // The transaction first reads which notices exist.
	// The range of numbers that findings of the commit's rule and scope may have.
	lowest, highest int64

	existing map[string]bool // ids of existing notices
	known    codec.Facts
	made     *codec.PlanResult
}

// newNotices starts to encode the bodies, and makes the new lanes. The caller must call release at the end, also
// after an error.
func (l *Ledger) newNotices(ctx context.Context, plan *codec.Plan) (*noticeWriter, error) {
	w := &noticeWriter{ledger: l, plan: plan, encoded: plan.Encode()}
	lanes, err := l.IDs.MakeLanes(ctx, plan.Lanes)
	w.lanes = lanes
	return w, err
}

// release waits for the encoder of the bodies, so that it does not outlive the call. release ignores the encoder's
// error, which write reports.
func (w *noticeWriter) release() { _ = w.encoded() }

// ask adds the queries that the deliveries depend on.
func (w *noticeWriter) ask(b *pgx.Batch) {
	w.existing = map[string]bool{}
	w.known = codec.Facts{Audiences: make([]string, len(w.plan.Audiences))}
	if w.checksExisting && len(w.plan.Notices) > 0 {
		b.Queue(queries.Get("existing-notices"), w.plan.IDs()).Query(func(found pgx.Rows) error {
			return forEach1(found, func(id string) { w.existing[id] = true })
		})
	}
	if len(w.plan.Audiences) > 0 {
		w.askAudiences(b)
	}
	if len(w.plan.Named) > 0 {
		w.askReached(b)
	}
	if after := w.plan.After(); len(after) > 0 {
		w.askTold(b, after)
	}
	w.askPushes(b)
}

func (w *noticeWriter) askAudiences(b *pgx.Batch) {
	var types, warehouses, addresses []string
	for _, a := range w.plan.Audiences {
		types, warehouses, addresses = append(types, a.Type), append(warehouses, a.Warehouse), append(addresses, a.Address)
	}
	b.Queue(queries.Get("recipients"), types, warehouses, addresses).Query(func(found pgx.Rows) error {
		var n int64
		var list string
		_, err := pgx.ForEachRow(found, []any{&n, &list}, func() error {
			w.known.Audiences[n-1] = list
			return nil
		})
		return err
	})
}

// askReached asks which of the named recipients have the address.
func (w *noticeWriter) askReached(b *pgx.Batch) {
	w.known.Reached = make(map[codec.Reached]bool, len(w.plan.Named))
	var subscribers, addresses []string
	for _, named := range w.plan.Named {
		subscribers, addresses = append(subscribers, named.Subscriber), append(addresses, named.Address)
	}
	b.Queue(queries.Get("having-addresses"), subscribers, addresses).Query(func(found pgx.Rows) error {
		var one codec.Reached
		_, err := pgx.ForEachRow(found, []any{&one.Subscriber, &one.Address}, func() error {
			w.known.Reached[one] = true
			return nil
		})
		return err
	})
}

func (w *noticeWriter) askTold(b *pgx.Batch, after []string) {
	b.Queue(queries.Get("told"), after).Query(func(found pgx.Rows) error {
		var at codec.NoticeLane
		var recipients string
		var told bool
		_, err := pgx.ForEachRow(found, []any{&at.Notice, &at.Lane.Sink, &at.Lane.Warehouse, &recipients, &told}, func() error {
			w.known.AddTold(at, recipients, told)
			return nil
		})
		return err
	})
}

// askPushes asks for the open deliveries of the plan's findings, and locks them until the end of the transaction.
func (w *noticeWriter) askPushes(b *pgx.Batch) {
	findings := w.plan.Concerned()
	if len(findings) == 0 && len(w.plan.Over) == 0 {
		return
	}
	b.Queue(queries.Get("by-key"))
	b.Queue(queries.Get("lock-findings"), findings, w.plan.Over, w.lowest, w.highest)
	b.Queue(queries.Get("by-hash"))
	b.Queue(queries.Get("open-pushes"), findings, w.plan.Over, w.lowest, w.highest, w.plan.After()).Query(func(found pgx.Rows) error {
		var one codec.OpenPush
		var body []byte
		_, err := pgx.ForEachRow(found, append(one.Columns(), &body), func() error {
			err := one.Read(body)
			w.known.Open = append(w.known.Open, one)
			return err
		})
		return err
	})
	b.Queue(queries.Get("by-any"))
	if back := w.plan.Retractions(); len(back) > 0 {
		w.askSent(b, back)
	}
}

func (w *noticeWriter) askSent(b *pgx.Batch, back []codec.Retraction) {
	w.known.Sent = map[codec.NoticeLane][]string{}
	ids, findings, since := make([]string, len(back)), make([]int64, len(back)), make([]int64, len(back))
	for i, t := range back {
		ids[i], findings[i], since[i] = t.Notice, t.Finding, t.Since
	}
	first, last := max(dayOf(slices.Min(since)), notice.FirstDay), dayOf(slices.Max(since))
	b.Queue(queries.Get("sent-pushes"), ids, findings, since, first.IDs(), (last + 1).IDs()).Query(func(found pgx.Rows) error {
		var n int64
		var sink string
		var recipients []string
		var body []byte
		_, err := pgx.ForEachRow(found, []any{&n, &sink, &recipients, &body}, func() error {
			return w.known.AddSent(&back[n-1], sink, recipients, body)
		})
		return err
	})
}

// forEach1 calls visit for each row of a query with one text column.
func forEach1(found pgx.Rows, visit func(text string)) error {
	var text string
	_, err := pgx.ForEachRow(found, []any{&text}, func() error { visit(text); return nil })
	return err
}

// write makes the deliveries from the answers and writes all new notices. Existing notices are left out.
func (w *noticeWriter) write(ctx context.Context, db *pgx.Conn) error {
	if len(w.existing) > 0 {
		if err := w.encoded(); err != nil {
			return err
		}
		w.plan.Drop(w.existing)
	}
	// The notices come last: their rows have the numbers of their deliveries, and the bodies may still be encoding.
	w.made = w.plan.Make(&w.known)
	deliveries := w.made.Deliveries
	seqs, err := w.takeSeqs(ctx, db, deliveries)
	if err != nil {
		return err
	}
	if err := w.copyDeliveries(deliveries, seqs).run(ctx, db, "copy-deliveries"); err != nil {
		return err
	}
	if err := w.copyPushes(deliveries, seqs).run(ctx, db, "copy-pushes"); err != nil {
		return err
	}
	if err := w.encoded(); err != nil {
		return err
	}
	return w.copyNotices(deliveries, seqs).run(ctx, db, "copy-notices")
}

// cancel adds the statements that cancel the needless deliveries.
func (w *noticeWriter) cancel(b *pgx.Batch) {
	if len(w.made.Canceled) > 0 {
		b.Queue(queries.Get("by-key"))
		b.Queue(queries.Get("cancel-deliveries"), w.made.Canceled, overReason)
		w.ledger.releaseNext(b, w.made.Canceled, laneEnds{})
		b.Queue(queries.Get("by-any"))
	}
}

// takeSeqs locks the lanes of the deliveries and takes their numbers. Because of the lock, numbers in a lane ascend
// in the order of commit. The lanes of push channels are not locked, because nobody reads them in that order.
func (w *noticeWriter) takeSeqs(ctx context.Context, db *pgx.Conn, deliveries []codec.Delivery) ([]int64, error) {
	if len(deliveries) == 0 {
		return nil, nil
	}
	var seqs []int64
	var b pgx.Batch
	if lanes := w.ordered(deliveries); len(lanes) > 0 {
		b.Queue(queries.Get("lock-lanes"), lanes)
	}
	b.Queue(queries.Get("take-seqs"), len(deliveries)).QueryRow(func(r pgx.Row) error { return r.Scan(&seqs) })
	if err := db.SendBatch(ctx, &b).Close(); err != nil {
		return nil, err
	}
	if len(seqs) != len(deliveries) {
		return nil, fmt.Errorf("take-seqs: %d numbers for %d deliveries", len(seqs), len(deliveries))
	}
	return seqs, nil
}

// ordered returns the lanes of the deliveries that are read in the order of Seq.
func (w *noticeWriter) ordered(deliveries []codec.Delivery) []int64 {
	used := make([]bool, len(w.lanes))
	var ids []int64
	for i := range deliveries {
		if at := deliveries[i].Lane; !used[at] && deliveries[i].Push == nil {
			used[at] = true
			ids = append(ids, w.lanes[at])
		}
	}
	return ids
}

// Recipients implements ledger.Audience.
func (l *Ledger) Recipients(ctx context.Context, typ, warehouse string) ([]string, error) {
	var n int64
	var list string
	err := l.pool.QueryRow(ctx, queries.Get("recipients"), []string{typ}, []string{warehouse}, []string{""}).Scan(&n, &list)
	if err := ignoreNone(err); err != nil {
		return nil, failed("recipients", err)
	}
	return codec.Recipients(list), nil
}

// Send implements ledger.Sends. If the same notices are being sent elsewhere at the same time, the table's key makes
// this call wait. Then it finds them as existing notices.
func (l *Ledger) Send(ctx context.Context, notices []ledger.NewNotice) (ledger.SentNotices, error) {
	if err := ledger.CheckSend(notices); err != nil {
		return ledger.SentNotices{}, err
	}
	sent, err := l.send(ctx, notices)
	if hasState(err, uniqueViolation) {
		sent, err = l.send(ctx, notices)
	}
	return sent, err
}

func (l *Ledger) send(ctx context.Context, given []ledger.NewNotice) (ledger.SentNotices, error) {
	n, err := l.newNotices(ctx, codec.PlanOf(given))
	defer n.release()
	if err != nil {
		return ledger.SentNotices{}, err
	}
	var sent *codec.SendAnswer
	var lanes []ledger.Lane
	err = l.inTx(ctx, "send", func(tx pgx.Tx) error {
		sent = codec.NewSendAnswer(given)
		var b pgx.Batch
		n.ask(&b)
		askSent(&b, sent)
		if err := tx.SendBatch(ctx, &b).Close(); err != nil {
			return err
		}
		if sent.Others() {
			return codec.ErrOther
		}
		n.existing = sent.Existing()
		if err := n.write(ctx, tx.Conn()); err != nil {
			return err
		}
		sent.Made(n.plan, n.made.Deliveries)
		lanes = n.plan.LanesOf(n.made.Deliveries)
		return nil
	})
	if err != nil && !errors.Is(err, codec.ErrOther) {
		return ledger.SentNotices{}, err
	}
	return sent.Answer(lanes), nil
}

// Sent implements ledger.Sends.
func (l *Ledger) Sent(ctx context.Context, given []ledger.NewNotice) (ledger.SentNotices, error) {
	sent := codec.NewSendAnswer(given)
	begin := func(b *pgx.Batch) { askSent(b, sent) }
	if err := l.askTogether(ctx, "sent", begin); err != nil {
		return ledger.SentNotices{}, err
	}
	return sent.Answer(nil), nil
}

// askSent asks which of the notices exist.
func askSent(b *pgx.Batch, sent *codec.SendAnswer) {
	ids := sent.IDs()
	b.Queue(queries.Get("by-key"))
	b.Queue(queries.Get("sent-notices"), ids).Query(func(found pgx.Rows) error {
		var body []byte
		_, err := pgx.ForEachRow(found, []any{&body}, func() error { return sent.Found(body) })
		return err
	})
	b.Queue(queries.Get("sent-deliveries"), ids).Query(func(found pgx.Rows) error {
		var id, sink string
		var n int
		_, err := pgx.ForEachRow(found, []any{&id, &sink, &n}, func() error { sent.Delivered(id, sink, n); return nil })
		return err
	})
	b.Queue(queries.Get("by-any"))
}

// LookAtNotices implements store.Engine.
func (e engine) LookAtNotices(ctx context.Context, s *codec.Search, a *codec.LookArgs) (list []codec.Candidate, full bool, err error) {
	begin := func(b *pgx.Batch) {
		if s.Finding == nil { // the notices of one finding are few, and not sorted
			b.Queue(queries.Get("in-order"))
		}
		lead, args := s.Lead(a, a.At, a.N, a.ID)
		b.Queue(queries.Get(lead), args...).Query(func(found pgx.Rows) error {
			var err error
			list, err = pgx.CollectRows(found, func(r pgx.CollectableRow) (n codec.Candidate, err error) {
				err = r.Scan(&n.At, &n.N, &n.ID)
				return n, err
			})
			return err
		})
	}
	if err = e.askTogether(ctx, "search notices", begin); err != nil {
		return nil, false, err
	}
	return list, len(list) == a.Limit, e.bodies(ctx, list, a)
}

// bodies adds the bodies of the notices that may match.
func (l *Ledger) bodies(ctx context.Context, list []codec.Candidate, a *codec.LookArgs) error {
	ids, places := make([]string, len(list)), make(map[string]int, len(list))
	for i := range list {
		ids[i], places[list[i].ID] = list[i].ID, i
	}
	found, err := l.pool.Query(ctx, queries.Get("looked-at"), ids, a.Warehouses, a.Types, a.Statuses, a.Rule, []byte(a.Key), a.Priority, codec.Bytes(a.Spellings))
	if err != nil {
		return failed("search notices", err)
	}
	var id string
	var body []byte
	_, err = pgx.ForEachRow(found, []any{&id, &body}, func() error {
		list[places[id]].Body = body
		body = nil
		return nil
	})
	if err != nil {
		return failed("search notices", err)
	}
	return nil
}
