package inbox

import (
	"context"
	"net/http"
	"time"

	"tallyman/internal/api"
	"tallyman/internal/notice"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

// legacyNotices is how many notices an answer has, but for those that share the last one's millisecond: a warehouse gives a millisecond 1,000 scores at most.
const legacyNotices = 1801

// longestHeld is the longest pause before a client that waits is answered with what was held back. It is reached where the clock of Redis went back.
const longestHeld = 100 * time.Millisecond

// legacy serves the list of notices to clients of the old web service. They remember the largest createTime that they have seen, and show whatever
// comes back. So a list has whole milliseconds, and none that may still get a notice.
func (h *Handlers) legacy(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	x, prob := newLegacyExchange(w, r, started)
	if prob != nil {
		api.WriteProblem(w, prob, api.MediaXML)
		h.deps.Meter.PollDone(PollRefused, time.Since(started))
		return
	}
	list, tag, err := h.lookLegacy(r.Context(), x)
	outcome := PollEmpty
	switch {
	case err != nil:
		outcome = h.pollFailed(w, r, err, api.MediaXML)
	case tag != "":
		outcome = PollNotModified
		pollHeader(w.Header(), tag)
		w.WriteHeader(http.StatusNotModified)
	default:
		if len(list.views) > 0 {
			outcome = PollNotices
		}
		pollHeader(w.Header(), list.tag(x))
		api.WriteForm(w, list.form(x), x.media)
	}
	h.deps.Meter.PollDone(outcome, time.Since(started)-x.waited)
}

// legacyList is what an old client gets.
type legacyList struct {
	views   []notice.View
	last    int64 // ms; the client has all up to it
	unread  int
	version string
	more    bool // the client asks again at once
	held    bool // notices are held back until their millisecond is over
}

// lookLegacy returns the list to answer with, or the tag of what the client has already. Where there is nothing to tell, a client that waits is answered
// later.
func (h *Handlers) lookLegacy(ctx context.Context, x *legacyExchange) (*legacyList, string, error) {
	if tag, err := h.unchanged(ctx, &x.exchange); err != nil || tag != "" {
		return nil, tag, err
	}
	for held := time.Millisecond; ; held = min(2*held, longestHeld) {
		list, err := h.listLegacy(ctx, x)
		if err != nil || len(list.views) > 0 || list.more || x.wait == 0 {
			return list, "", err
		}
		var changed bool
		if list.held {
			changed, err = x.pause(ctx, held)
		} else {
			changed, err = h.wait(ctx, &x.exchange, list.version)
		}
		if err != nil || !changed {
			return list, "", err
		}
	}
}

// pause waits. It returns false when the client's time is over.
func (x *exchange) pause(ctx context.Context, d time.Duration) (bool, error) {
	if time.Until(x.deadline) < d {
		return false, nil
	}
	began := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-timer.C:
	}
	x.waited += time.Since(began)
	return true, nil
}

// listLegacy collects the pages since the client's last fetch, oldest first.
func (h *Handlers) listLegacy(ctx context.Context, x *legacyExchange) (*legacyList, error) {
	list := &legacyList{last: x.last}
	q := x.Query
	for {
		pg, err := h.deps.Inbox.Poll(ctx, q)
		if err != nil {
			return nil, err
		}
		if pg.Reset && q.After != "" { // The index has changed its epoch between two pages. The end of the page before may cut a millisecond.
			list.more = true
			list.cut()
			break
		}
		list.unread, list.version = pg.Unread, pg.Version
		if list.take(&pg); list.more || list.held || !pg.More {
			break
		}
		q.After, q.Since = pg.Cursor, 0
	}
	if n := len(list.views); n > 0 {
		list.last = millisecond(list.views[n-1])
	}
	return list, nil
}

func millisecond(v notice.View) int64 { return v.Score / 1000 }

// take adds the notices of a page, up to the end of a millisecond.
func (l *legacyList) take(pg *page.Page) {
	for _, v := range pg.Notices {
		switch n := len(l.views); {
		case v.Score >= pg.Settled:
			l.held = true
			return
		case n >= legacyNotices && millisecond(v) != millisecond(l.views[n-1]):
			l.more = true
			return
		}
		l.views = append(l.views, v)
	}
}

// cut takes back the last millisecond.
func (l *legacyList) cut() {
	n := len(l.views)
	for last := n; n > 0 && millisecond(l.views[n-1]) == millisecond(l.views[last-1]); {
		n--
	}
	l.views = l.views[:n]
}

// tag is of the list. One that has more behind it, or that holds something back, is never what the client has already.
func (l *legacyList) tag(x *legacyExchange) string {
	if l.more || l.held {
		return tagOf(l.version, 0, 0)
	}
	q := x.Query
	q.Since = since(l.last)
	return tagOf(l.version, x.this, identify(&q, x.media, x.language))
}

func (l *legacyList) form(x *legacyExchange) wire.PackForm {
	pack := wire.PackForm{Warehouse: x.Warehouse, LastFetch: l.last, Unread: l.unread, Notifications: wire.NotificationsForm{List: make([]wire.NotificationForm, len(l.views))}}
	langs := api.Languages(x.language)
	for i, v := range l.views {
		pack.Notifications.List[i] = newNotification(v, langs)
	}
	return pack
}

// newNotification counts the life from the delivery, so that createTime + expireTime stays the moment of expiry.
func newNotification(v notice.View, langs []string) wire.NotificationForm {
	n := api.Localize(v.Notice, langs)
	delivered := time.UnixMicro(v.Score)
	return wire.NotificationForm{
		ID: n.ID, Title: n.Title, Body: n.Body, CreateTime: delivered.UnixMilli(), ExpireTime: secondsUntil(delivered, n.ExpiresAt),
		Warehouse: n.Warehouse, MessageTypeID: n.TypeID,
	}
}

// secondsUntil rounds up and is never negative.
func secondsUntil(from, to time.Time) int64 {
	return max(0, int64((to.Sub(from)+time.Second-1)/time.Second))
}
