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

// legacyNotices is the number of notices after which an answer ends. The rest of the last notice's millisecond still
// comes: at most 1,000 notices, because a warehouse has 1,000 scores in a millisecond.
const legacyNotices = 1801

// longestHeld is the longest pause between two looks for notices that are held back. A pause becomes this long only if
// the clock of Redis went back.
const longestHeld = 100 * time.Millisecond

// legacy serves the list of notices to clients of the old web service. Such a client remembers the largest createTime
// that it has seen, and shows all notices of the answer. So a list never ends inside a millisecond, and has no
// millisecond that can still get a notice. Otherwise a notice would be missed or shown twice.
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

// legacyList is the answer to an old client.
type legacyList struct {
	views   []notice.View
	last    int64 // The client has all notices up to this time, in ms.
	unread  int
	version string
	more    bool // There are more notices; the client should ask again at once.
	held    bool // Notices are held back until their millisecond is over.
}

// lookLegacy returns the list for the answer, or the tag of the list that the client already has. If the list is empty
// and the client asked to wait, lookLegacy waits.
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

// pause waits for d. pause returns false, without waiting, if the client's time would end before that.
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
		if pg.Reset && q.After != "" { // The index began a new epoch between two pages. The previous page may end inside a millisecond.
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

// cut removes the notices of the last millisecond.
func (l *legacyList) cut() {
	n := len(l.views)
	for last := n; n > 0 && millisecond(l.views[n-1]) == millisecond(l.views[last-1]); {
		n--
	}
	l.views = l.views[:n]
}

// tag returns the entity tag of the list. If the list is incomplete (more or held), the tag matches no request, so that
// the next poll gets the rest.
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

// newNotification converts a notice. newNotification counts the lifetime from the delivery, so that createTime +
// expireTime is the time of expiry.
func newNotification(v notice.View, langs []string) wire.NotificationForm {
	n := api.Localize(v.Notice, langs)
	delivered := time.UnixMicro(v.Score)
	return wire.NotificationForm{
		ID: n.ID, Title: n.Title, Body: n.Body, CreateTime: delivered.UnixMilli(), ExpireTime: secondsUntil(delivered, n.ExpiresAt),
		Warehouse: n.Warehouse, MessageTypeID: n.TypeID,
	}
}

// secondsUntil returns the seconds between two times, rounded up and never negative.
func secondsUntil(from, to time.Time) int64 {
	return max(0, int64((to.Sub(from)+time.Second-1)/time.Second))
}
