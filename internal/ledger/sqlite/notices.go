package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tallyman/internal/ledger"
	"tallyman/internal/ledger/codec"
)

// overReason is the reason in the records of deliveries that are canceled because their findings are over.
const overReason = "the finding is over"

// noticeWriter writes the notices of a plan and their deliveries, in a transaction of its caller. The bodies must be
// encoded before.
type noticeWriter struct {
	plan  *codec.Plan
	lanes []int64 // ids of plan.Lanes
	now   int64
	// The range of numbers that findings of the commit's rule and scope may have.
	lowest, highest int64

	known codec.Facts
	made  *codec.PlanResult
}

func (w *noticeWriter) write(ctx context.Context, tx *sql.Tx) error {
	for _, step := range []func(context.Context, *sql.Tx) error{
		w.dropExisting, w.askAudiences, w.askReached, w.askTold, w.askPushes, w.askSent,
	} {
		if err := step(ctx, tx); err != nil {
			return err
		}
	}
	w.made = w.plan.Make(&w.known)
	if err := w.insert(ctx, tx); err != nil {
		return err
	}
	return cancel(ctx, tx, w.made.Canceled, overReason, w.now)
}

func (w *noticeWriter) dropExisting(ctx context.Context, tx *sql.Tx) error {
	if len(w.plan.Notices) == 0 {
		return nil
	}
	existing := map[string]bool{}
	var id string
	err := each(ctx, tx, "existing-notices", []any{w.plan.IDs()}, []any{&id}, func() error {
		existing[id] = true
		return nil
	})
	w.plan.Drop(existing)
	return err
}

// askAudiences reads the subscribers of each audience.
func (w *noticeWriter) askAudiences(ctx context.Context, tx *sql.Tx) error {
	w.known.Audiences = make([]string, len(w.plan.Audiences))
	for i, a := range w.plan.Audiences {
		found, err := recipients(ctx, tx, a)
		if err != nil {
			return err
		}
		w.known.Audiences[i] = strings.Join(found, " ")
	}
	return nil
}

// Recipients implements ledger.Audience.
func (l *Ledger) Recipients(ctx context.Context, typ, warehouse string) ([]string, error) {
	found, err := recipients(ctx, l.read, codec.Audience{Type: typ, Warehouse: warehouse})
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return found, nil
}

// recipients reads the subscribers of an audience.
func recipients(ctx context.Context, db queryer, a codec.Audience) (found []string, err error) {
	var subscriber string
	err = each(ctx, db, "recipients", []any{a.Type, a.Warehouse, a.Address}, []any{&subscriber}, func() error {
		found = append(found, subscriber)
		return nil
	})
	return found, err
}

// askReached reads which of the named recipients have the address.
func (w *noticeWriter) askReached(ctx context.Context, tx *sql.Tx) error {
	w.known.Reached = map[codec.Reached]bool{}
	for _, named := range w.plan.Named {
		var found int
		reached, err := one(ctx, tx, "has-address", []any{named.Subscriber, named.Address}, &found)
		if err != nil {
			return err
		}
		w.known.Reached[named] = reached
	}
	return nil
}

// askTold reads where the retracted notices went.
func (w *noticeWriter) askTold(ctx context.Context, tx *sql.Tx) error {
	after := w.plan.After()
	if len(after) == 0 {
		return nil
	}
	var at codec.NoticeLane
	var recipients string
	var told bool
	return each(ctx, tx, "told", []any{after}, []any{&at.Notice, &at.Lane.Sink, &at.Lane.Warehouse, &recipients, &told}, func() error {
		w.known.AddTold(at, recipients, told)
		return nil
	})
}

// askPushes reads the open deliveries of the plan's findings.
func (w *noticeWriter) askPushes(ctx context.Context, tx *sql.Tx) error {
	findings := w.plan.Concerned()
	if len(findings) == 0 && len(w.plan.Over) == 0 {
		return nil
	}
	var one codec.OpenPush
	var body sql.RawBytes
	args := []any{findings, w.plan.Over, w.lowest, w.highest, w.plan.After()}
	return each(ctx, tx, "open-pushes", args, append(one.Columns(), &body), func() error {
		err := one.Read(body)
		w.known.Open = append(w.known.Open, one)
		return err
	})
}

// askSent reads which push channels received the retracted notices.
func (w *noticeWriter) askSent(ctx context.Context, tx *sql.Tx) error {
	w.known.Sent = map[codec.NoticeLane][]string{}
	for _, back := range w.plan.Retractions() {
		var sink, text string
		var body sql.RawBytes
		args := []any{back.Notice, back.Finding, back.Since}
		err := each(ctx, tx, "sent-pushes", args, []any{&sink, &text, &body}, func() error {
			var recipients []string
			if err := json.Unmarshal([]byte(text), &recipients); err != nil {
				return err
			}
			return w.known.AddSent(&back, sink, recipients, body)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *noticeWriter) insert(ctx context.Context, tx *sql.Tx) error {
	notices := w.plan.Notices
	if len(notices) == 0 {
		return nil
	}
	last, err := take(ctx, tx, "notice", len(notices))
	if err != nil {
		return err
	}
	first := last - int64(len(notices)) + 1
	err = insertRows(ctx, tx, "insert-notices", len(notices), func(dst []any, i int) []any {
		n := &notices[i]
		var finding any
		if codec.IsOrdered(n.Notice) {
			finding = codec.FindingOf(n.Notice)
		}
		return append(dst, first+int64(i), n.ID, n.Type, n.Rule, string(n.Status), codec.Micros(n.CreatedAt),
			codec.Micros(n.ExpiresAt), n.Body, finding, n.Warehouse, n.Priority)
	})
	if err != nil {
		return err
	}
	var seq int64
	if _, err := one(ctx, tx, "last-seq", nil, &seq); err != nil {
		return err
	}
	deliveries := w.made.Deliveries
	err = insertRows(ctx, tx, "insert-deliveries", len(deliveries), func(dst []any, i int) []any {
		d := deliveries[i]
		return append(dst, seq+1+int64(i), first+int64(d.Notice), w.lanes[d.Lane], d.Expires, d.Recipients)
	})
	if err != nil {
		return err
	}
	return insertPushes(ctx, tx, deliveries, w.lanes, seq+1)
}

func insertPushes(ctx context.Context, tx *sql.Tx, deliveries []codec.Delivery, lanes []int64, first int64) error {
	var pushes []int
	for i := range deliveries {
		if deliveries[i].Push != nil {
			pushes = append(pushes, i)
		}
	}
	return insertRows(ctx, tx, "insert-pushes", len(pushes), func(dst []any, i int) []any {
		d := &deliveries[pushes[i]]
		p := d.Push
		var finding any
		if p.Finding != nil {
			finding = *p.Finding
		}
		return append(dst, first+int64(pushes[i]), p.Due, p.First, p.Deadline, p.Ends, finding, p.Addressee, lanes[d.Lane],
			p.Kind, p.Unless, p.Delay, p.At, p.Within, p.Retry)
	})
}

// cancel ends the deliveries that are pending, and releases the deliveries behind them.
func cancel(ctx context.Context, tx *sql.Tx, seqs []int64, reason string, now int64) error {
	if len(seqs) == 0 {
		return nil
	}
	if _, err := exec(ctx, tx, "cancel-deliveries", seqs, reason); err != nil {
		return err
	}
	return endPushes(ctx, tx, seqs, now)
}

// endPushes records in pushes that deliveries have ended, and releases the deliveries behind them.
func endPushes(ctx context.Context, tx *sql.Tx, seqs []int64, now int64) error {
	if _, err := exec(ctx, tx, "end-waiting", seqs); err != nil {
		return err
	}
	_, err := exec(ctx, tx, "release-next", seqs, now)
	return err
}

// Send implements ledger.Sends.
func (l *Ledger) Send(ctx context.Context, given []ledger.NewNotice) (ledger.SentNotices, error) {
	if err := ledger.CheckSend(given); err != nil {
		return ledger.SentNotices{}, err
	}
	plan := codec.PlanOf(given)
	// Encode before the transaction starts, because other writers wait for its end.
	if err := plan.Encode()(); err != nil {
		return ledger.SentNotices{}, failed("send", err)
	}
	ids, err := l.IDs.MakeLanes(ctx, plan.Lanes)
	if err != nil {
		return ledger.SentNotices{}, err
	}
	n := noticeWriter{plan: plan, lanes: ids, now: l.nowMicros()}
	sent := codec.NewSendAnswer(given)
	var lanes []ledger.Lane
	err = l.inTx(ctx, "send", func(tx *sql.Tx) error {
		if err := askSent(ctx, tx, sent); err != nil {
			return err
		}
		if sent.Others() {
			return codec.ErrOther
		}
		if err := n.write(ctx, tx); err != nil {
			return err
		}
		sent.Made(plan, n.made.Deliveries)
		lanes = plan.LanesOf(n.made.Deliveries)
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
	if err := askSent(ctx, l.read, sent); err != nil {
		return ledger.SentNotices{}, failed("sent", err)
	}
	return sent.Answer(nil), nil
}

// askSent reads which of the notices exist.
func askSent(ctx context.Context, db queryer, sent *codec.SendAnswer) error {
	ids := []any{sent.IDs()}
	var body []byte
	err := each(ctx, db, "sent-notices", ids, []any{&body}, func() error { return sent.Found(body) })
	if err != nil {
		return err
	}
	var id, sink string
	var n int
	return each(ctx, db, "sent-deliveries", ids, []any{&id, &sink, &n}, func() error { sent.Delivered(id, sink, n); return nil })
}

// LookAtNotices implements store.Engine.
func (e engine) LookAtNotices(ctx context.Context, s *codec.Search, a *codec.LookArgs) (looked []codec.Candidate, full bool, err error) {
	lead, args := s.Lead(a, a.At, a.N)
	var nums []int64
	var num int64
	err = each(ctx, e.read, lead, args, []any{&num}, func() error {
		nums = append(nums, num)
		return nil
	})
	if err != nil {
		return nil, false, failed("search notices", err)
	}
	var n codec.Candidate
	args = []any{nums, a.Warehouses, a.Types, a.Statuses, a.Rule, a.Key, a.Priority, a.Spellings}
	err = each(ctx, e.read, s.Look(), args, []any{&n.At, &n.N, &n.ID, &n.Body}, func() error {
		looked = append(looked, n)
		return nil
	})
	if err != nil {
		return nil, false, failed("search notices", err)
	}
	return looked, len(nums) == a.Limit, nil
}
