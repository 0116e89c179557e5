package inbox

import (
	"context"
	"slices"
	"time"

	"tallyman/internal/delivery"
)

// mark records marks and watermarks, as the API does before it tells the inbox of them.
func (l *memoryLedger) mark(marks ...delivery.Mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range marks {
		if !slices.ContainsFunc(l.marks, func(o delivery.Mark) bool {
			return o.Notice == m.Notice && o.Warehouse == m.Warehouse && o.User == m.User && o.Acked == m.Acked
		}) {
			l.marks = append(l.marks, m)
		}
	}
}

func (l *memoryLedger) readAll(list ...delivery.Watermark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range list {
		at := slices.IndexFunc(l.reads, func(o delivery.Watermark) bool {
			return o.Warehouse == w.Warehouse && o.User == w.User && o.Inbox == w.Inbox
		})
		if at >= 0 && l.reads[at].Score >= w.Score {
			continue
		}
		if at >= 0 {
			l.reads = slices.Delete(l.reads, at, at+1)
		}
		l.reads = append(l.reads, w)
	}
}

// LiveMarks answers in the order of recording, which is as good as any.
func (l *memoryLedger) LiveMarks(_ context.Context, after delivery.Mark, limit int) ([]delivery.Mark, error) {
	leave, err := l.enter()
	defer leave()
	return pageOf(l.marks, slices.Index(l.marks, after), limit), err
}

func (l *memoryLedger) RecentMarks(_ context.Context, after delivery.Mark, limit int) ([]delivery.Mark, error) {
	leave, err := l.enter()
	defer leave()
	at := slices.Index(l.marks, after)
	if after.Notice == "" {
		at = slices.IndexFunc(l.marks, func(m delivery.Mark) bool { return !m.At.Before(after.At) }) - 1
		if at < -1 {
			return nil, err
		}
	}
	return pageOf(l.marks, at, limit), err
}

func (l *memoryLedger) Watermarks(_ context.Context, after delivery.Watermark, limit int) ([]delivery.Watermark, error) {
	leave, err := l.enter()
	defer leave()
	at := slices.Index(l.reads, after)
	if after.User == "" {
		at = slices.IndexFunc(l.reads, func(w delivery.Watermark) bool { return !w.At.Before(after.At) }) - 1
		if at < -1 {
			return nil, err
		}
	}
	return pageOf(l.reads, at, limit), err
}

// pageOf returns what follows the place.
func pageOf[T any](list []T, at, limit int) []T {
	list = list[at+1:]
	return slices.Clone(list[:min(limit, len(list))])
}

// marks marks notices in the ledger and in the inbox, as the API does.
func (n *node) mark(t fataler, at time.Time, user string, acked bool, ids ...string) {
	t.Helper()
	var list []delivery.Mark
	for _, id := range ids {
		list = append(list, delivery.Mark{Notice: id, Warehouse: wh, User: user, Acked: acked, At: at})
	}
	n.ledger.mark(list...)
	if err := n.Mark(context.Background(), list); err != nil {
		t.Fatal(err)
	}
}

// readAll does so up to a cursor.
func (n *node) readAll(t fataler, at time.Time, user, cursor string, inboxes ...string) {
	t.Helper()
	score, err := n.UpTo(context.Background(), wh, cursor)
	if err != nil {
		t.Fatal(err)
	}
	var list []delivery.Watermark
	for _, in := range inboxes {
		list = append(list, delivery.Watermark{Warehouse: wh, User: user, Inbox: in, Score: score, At: at})
	}
	n.ledger.readAll(list...)
	if err := n.ReadAll(context.Background(), list); err != nil {
		t.Fatal(err)
	}
}

type fataler interface {
	Helper()
	Fatal(args ...any)
}

// markOf and watermarkOf are of user:1.
func markOf(id string, acked bool, at time.Time) delivery.Mark {
	return delivery.Mark{Notice: id, Warehouse: wh, User: "user:1", Acked: acked, At: at}
}

func watermarkOf(inbox string, score int64, at time.Time) delivery.Watermark {
	return delivery.Watermark{Warehouse: wh, User: "user:1", Inbox: inbox, Score: score, At: at}
}
