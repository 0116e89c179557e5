package inbox

import (
	"context"
	"net/http"
	"strings"
	"time"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/notice"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

// legacyNotices bounds one answer, to a page more. An answer that stops there still moves on, because a millisecond holds at most
// 1,000 scores of a warehouse.
const legacyNotices = 1801

// legacy serves GET /api/v1/legacy/listNotifications. It always speaks XML, under the name that Accept asks for: its clients
// send whatever their library does as Accept.
func (h *Handlers) legacy(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	x, prob := newLegacyExchange(r)
	if prob != nil {
		api.WriteProblem(w, prob, api.MediaXML)
		h.deps.Meter.PollDone(PollRefused, time.Since(started))
		return
	}
	pack, err := h.pack(r.Context(), x)
	outcome := PollEmpty
	switch {
	case err != nil:
		outcome = h.pollFailed(w, r, err, api.MediaXML)
	default:
		if len(pack.Notifications.List) > 0 {
			outcome = PollNotices
		}
		w.Header()["Cache-Control"] = cacheControl
		api.WriteForm(w, pack, x.media)
	}
	h.deps.Meter.PollDone(outcome, time.Since(started))
}

// newLegacyExchange reads the parameters under their old names.
func newLegacyExchange(r *http.Request) (*exchange, *wire.Problem) {
	x := &exchange{media: api.MediaXML, language: api.HeaderValue(r, "Accept-Language")}
	if m, ok := api.Negotiate(r); ok && m == api.MediaTextXML {
		x.media = m
	}
	x.Limit, x.Plain = page.MaxLimit, true
	var seen seenParams
	prob := api.Params(r.URL.RawQuery, func(name, value string) *wire.Problem {
		switch name {
		case "whId":
			return x.setWarehouse(&seen, name, value)
		case "subscriberIdList":
			if seen.again(64) {
				return api.RepeatedParameter(name)
			}
			return x.addSubscribers(value)
		case "lastFetchTimeStamp":
			return x.setSince(&seen, name, value)
		}
		return api.UnknownParameter(name)
	})
	if prob != nil {
		return nil, prob
	}
	x.Warehouse, x.Subscribers, prob = own(auth.From(r.Context()), legacyNames, x.Warehouse, x.Subscribers)
	if prob != nil {
		return nil, prob
	}
	x.Subscribers = api.SortedUnique(x.Subscribers)
	return x, nil
}

// addSubscribers takes a list such as 1,2,role:keeper: a bare id is a user's.
func (p *pollRequest) addSubscribers(list string) *wire.Problem {
	for id := range strings.SplitSeq(list, ",") {
		id = strings.TrimSpace(id)
		if id != "" && !strings.HasPrefix(id, "role:") {
			id = "user:" + id
		}
		if prob := p.addSubscriber(id); prob != nil {
			return prob
		}
	}
	return nil
}

// pack collects the pages since the client's last fetch, oldest first.
func (h *Handlers) pack(ctx context.Context, x *exchange) (wire.PackForm, error) {
	pack := wire.PackForm{Warehouse: x.Warehouse, Notifications: wire.NotificationsForm{List: []wire.NotificationForm{}}}
	langs := api.Languages(x.language)
	for len(pack.Notifications.List) < legacyNotices {
		pg, err := h.deps.Inbox.Poll(ctx, x.Query)
		if err != nil {
			return pack, err
		}
		if pg.Reset && x.After != "" {
			break // the index changed its epoch between two pages; what was read so far is a whole answer
		}
		for _, v := range pg.Notices {
			pack.Notifications.List = append(pack.Notifications.List, newNotification(v, langs))
		}
		pack.LastFetch, pack.Unread = pg.Clock/1000, pg.Unread
		if !pg.More {
			break
		}
		x.After = pg.Cursor
	}
	return pack, nil
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
