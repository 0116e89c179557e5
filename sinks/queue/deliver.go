package queue

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/item"
	"tallyman/internal/notice"
	"tallyman/internal/text"
	"tallyman/sinks"
)

// Deliver makes items of notices, in order. The notice is the payload, and its priority is the item's. The dedupe key
// of an item is the rule, scope and key of its notice. A resolution makes no item: it removes the items of its finding
// that no worker has leased. A notice that cannot be an item is refused for good. A queue ignores the lane.
func (q *Queue) Deliver(ctx context.Context, _ string, batch []delivery.Delivery) ([]delivery.Receipt, error) {
	work, err := newWork(batch)
	if err != nil {
		return nil, err
	}
	var epochs []string // epochs in which this call may have changed existing items
	for len(work) > 0 {
		n := alike(work)
		take := q.takeIn
		if work[0].resolution {
			take = q.takeBack
		}
		epoch, err := take(ctx, work[:n])
		if err != nil {
			return nil, err
		}
		if epoch != "" {
			epochs = append(epochs, epoch)
		}
		work = work[n:]
	}
	// A delivered notice is not sent again. The ledger must have its moves before Redis can lose them.
	if len(epochs) > 0 {
		if err := q.awaitLedger(ctx, q.line(false), epochs...); err != nil {
			return nil, err
		}
	}
	receipts := make([]delivery.Receipt, len(batch))
	for i, d := range batch {
		receipts[i].Seq = d.Seq
	}
	return receipts, nil
}

// noticeWork is one notice of a batch, and the item that it becomes.
type noticeWork struct {
	seq        int64 // of the delivery
	notice     *notice.Notice
	resolution bool
	item       item.New // empty for a resolution
}

// newWork makes the items of a batch. newWork returns a RefusedError if some notices cannot be items.
func newWork(batch []delivery.Delivery) ([]noticeWork, error) {
	list := make([]noticeWork, len(batch))
	var refused sinks.RefusedError
	now := time.Now()
	for i, d := range batch {
		w := &list[i]
		w.seq, w.notice, w.resolution = d.Seq, d.Notice, d.Notice.Status == notice.Resolved
		if w.resolution {
			continue
		}
		var err error
		if w.item, err = newItem(d.Notice, now); err == nil {
			err = checkNew(i, &w.item)
		}
		if err != nil {
			refused.Seqs = append(refused.Seqs, d.Seq)
			refused.Err = fmt.Errorf("queue: notice %s: %w", d.Notice.ID, err)
		}
	}
	if len(refused.Seqs) > 0 {
		return nil, &refused
	}
	return list, nil
}

// alike returns how many of the first notices one call can take: all resolutions or none, and at most item.MaxBatch.
func alike(list []noticeWork) int {
	for i := range list {
		if list[i].resolution != list[0].resolution || i == item.MaxBatch {
			return i
		}
	}
	return len(list)
}

// takeIn pushes the items. The item of a repeated notice exists already. If the finding of a new notice has an item
// already, the new item is refused as a duplicate. In both cases the existing item follows its finding. If an item of
// another warehouse has the id, the notice is refused for good.
//
// takeIn returns the epoch in which existing items may have changed. Empty means that there were no such items.
func (q *Queue) takeIn(ctx context.Context, list []noticeWork) (epoch string, err error) {
	items := make([]item.New, len(list))
	for i := range list {
		items[i] = list[i].item
	}
	records, results, err := q.push(ctx, q.line(false), maker(list), items)
	if err != nil {
		return "", err
	}
	if epoch, err = q.follow(ctx, list, records, results); err != nil {
		return "", err
	}
	var refused sinks.RefusedError
	for i, r := range results {
		if r.Outcome == item.IDTaken {
			refused.Seqs = append(refused.Seqs, list[i].seq)
			refused.Err = fmt.Errorf("queue: notice %s: an item of another warehouse has its id", r.ID)
		}
	}
	if len(refused.Seqs) > 0 {
		return "", &refused
	}
	return epoch, nil
}

// maker returns the pusher's name for the trace: the rule, if all notices come from one rule.
func maker(list []noticeWork) string {
	for i := range list {
		if list[i].notice.Rule != list[0].notice.Rule {
			return ""
		}
	}
	if list[0].notice.Rule == "" {
		return ""
	}
	return "rule:" + list[0].notice.Rule
}

// newItem makes an item of a notice. The item is as old as the notice, but not from the future: the clock of a
// warehouse's database may be ahead of this machine's. Only a notice of a rule has a subject and a dedupe key.
func newItem(n *notice.Notice, now time.Time) (item.New, error) {
	if _, err := notice.Marshal(n); err != nil {
		return item.New{}, err
	}
	payload, err := newPayload(n)
	if err != nil {
		return item.New{}, err
	}
	order, err := item.ParseServiceOrder(n.Order)
	if err != nil {
		return item.New{}, err
	}
	it := item.New{ID: n.ID, Warehouse: n.Warehouse, Priority: n.Priority, Order: order, Payload: payload, Created: n.CreatedAt}
	if it.Created.After(now) {
		it.Created = now
	}
	if n.Rule != "" {
		it.Subject = subject(n)
		it.DedupeKey = it.Subject
	}
	return it, nil
}

// subject names what a notice is about: its rule, scope and key. So all notices of a finding have the same subject. All
// digests of a rule have the same key, but each digest stands for other findings. So the subject of a digest contains
// its episode.
func subject(n *notice.Notice) string {
	about := n.Rule + " " + n.Scope + " " + n.Key
	if notice.IsDigest(n.ID) {
		about += " " + n.Episode
	}
	if len(about) > item.MaxKey {
		sum := sha256.Sum256([]byte(about))
		about = n.Rule + " " + base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return about
}

// newPayload returns the notice as clients get it. A body that makes the notice too long is cut, because the item
// matters more than its text.
func newPayload(n *notice.Notice) (json.RawMessage, error) {
	payload, err := encode(n.Form())
	if err != nil {
		return nil, err
	}
	const dots = "…"
	over := len(payload) - item.MaxPayload
	if over <= 0 {
		return payload, nil
	}
	form := n.Form()
	// Escapes take more bytes than the characters that they stand for, so this may cut more than is needed.
	form.Body = strings.ToValidUTF8(n.Body[:max(len(n.Body)-over-len(dots), 0)], "") + dots
	payload, err = encode(form)
	if err == nil && len(payload) > item.MaxPayload {
		return nil, fmt.Errorf("the notice has %d bytes without its body; an item may have at most %d", len(payload), item.MaxPayload)
	}
	return payload, err
}

func encode(form notice.Form) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(form); err != nil {
		return nil, err
	}
	return text.EscapeJSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// episode returns when the episode of an item's notice began. episode returns false if the notice has no episode, for
// example the notice of an event.
func episode(payload []byte) (notice.Beginning, bool) {
	var of struct {
		Episode string `json:"episode"`
	}
	if json.Unmarshal(payload, &of) != nil {
		return notice.Beginning{}, false
	}
	return notice.ParseEpisode(of.Episode)
}

// takeBack removes the items of findings that have resolved, except those that a worker has leased.
//
// A repeated resolution must not remove an item that a later episode of the finding has made since. So an item is
// removed only if its episode did not begin after the resolution's. Episodes begin at due times of the rule, so they
// are the same on every node.
//
// takeBack returns the epoch in which items may have been removed. Empty means that there were no such items.
func (q *Queue) takeBack(ctx context.Context, list []noticeWork) (epoch string, err error) {
	if q.o.Ledger == nil {
		return "", errors.New("queue: a resolution needs the ledger to find the items of its finding, and this queue has none")
	}
	by := maker(list)
	var subjects []string
	var resolved []notice.Beginning // of the episodes
	for i := range list {
		n := list[i].notice
		if of, ok := notice.ParseEpisode(n.Episode); ok { // an event has no episode, and nothing resolves it
			subjects, resolved = append(subjects, subject(n)), append(resolved, of)
		}
	}
	made, err := q.o.Ledger.SubjectItems(ctx, q.line(false).name, subjects)
	if err != nil {
		return "", err
	}
	last := map[string]notice.Beginning{} // id of an item → the last resolved episode
	var ids []string
	for i := range made {
		for _, id := range made[i] {
			of, known := last[id]
			if !known {
				ids = append(ids, id)
			}
			if !known || resolved[i].After(of) {
				last[id] = resolved[i]
			}
		}
	}
	values, epoch, err := q.values(ctx, q.line(false), ids)
	if err != nil {
		return "", err
	}
	var ops []item.Op
	for i, id := range ids {
		if of, ok := episode(values[i].Payload); ok && !of.After(last[id]) {
			ops = append(ops, item.Op{Kind: item.Remove, ID: id, Note: "resolved"})
		}
	}
	for len(ops) > 0 {
		n := min(len(ops), item.MaxBatch)
		if _, err := q.Step(ctx, item.Step{By: by, Ops: ops[:n]}); err != nil {
			return "", err
		}
		ops = ops[n:]
	}
	return epoch, nil
}

// values reads items from Redis, and returns the epoch. An item that is not in Redis is zero.
func (q *Queue) values(ctx context.Context, l *queueLine, ids []string) (list []item.Item, epoch string, err error) {
	list = make([]item.Item, 0, len(ids))
	for len(list) < len(ids) {
		some := ids[len(list):]
		args := []any{maxPageBytes}
		for _, id := range some[:min(len(some), item.MaxBatch)] {
			args = append(args, id)
		}
		answer, at, err := q.read(ctx, l, q.reads.values, args...)
		if err != nil {
			return nil, "", err
		}
		epoch = cmp.Or(epoch, at)
		if len(answer) == 0 || len(answer) >= len(args) {
			return nil, "", fmt.Errorf("%w: values.lua gave %d values", errAnswer, len(answer))
		}
		for i, value := range answer {
			var one item.Item
			if value != "" {
				if one, err = parseValue(some[i], value); err != nil {
					return nil, "", err
				}
			}
			list = append(list, one)
		}
	}
	return list, epoch, nil
}
