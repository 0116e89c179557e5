package inbox

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/notice"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

// exchange is the state of answering one poll.
type exchange struct {
	pollRequest

	media    api.Media
	language string        // The Accept-Language header.
	known    string        // The If-None-Match header.
	this     identity      // Identity of the request.
	deadline time.Time     // End of the client's wait.
	waited   time.Duration // Time that the poll has waited for something new.
}

// notices serves GET /api/v1/notices.
func (h *Handlers) notices(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	x, prob := newExchange(r, started)
	if prob != nil {
		api.WriteProblem(w, prob, api.ProblemMedia(r))
		h.deps.Meter.PollDone(PollRefused, time.Since(started))
		return
	}
	pg, tag, err := h.look(r.Context(), x)
	var outcome string
	switch {
	case err != nil:
		outcome = h.pollFailed(w, r, err, x.media)
	case tag != "":
		outcome = PollNotModified
		pollHeader(w.Header(), tag)
		w.WriteHeader(http.StatusNotModified)
	default:
		outcome = h.writePage(w, x, &pg)
	}
	h.deps.Meter.PollDone(outcome, time.Since(started)-x.waited)
}

// newExchange reads the request.
func newExchange(r *http.Request, started time.Time) (*exchange, *wire.Problem) {
	m, ok := api.Negotiate(r)
	if !ok {
		return nil, api.NotAcceptable()
	}
	q, prob := parsePoll(auth.From(r.Context()), r.URL.RawQuery)
	if prob != nil {
		return nil, prob
	}
	x := &exchange{pollRequest: q, media: m, language: api.HeaderValue(r, "Accept-Language"), known: api.HeaderValue(r, "If-None-Match"), deadline: started.Add(q.wait)}
	x.this = identify(&x.Query, m, x.language)
	return x, nil
}

// look returns the page for the answer, or the tag of the page that the client already has. The version changes with
// any change in the warehouse. After a change the server polls again, and the client goes on waiting if only other
// subscribers got something.
func (h *Handlers) look(ctx context.Context, x *exchange) (page.Page, string, error) {
	if tag, err := h.unchanged(ctx, x); err != nil || tag != "" {
		return page.Page{}, tag, err
	}
	pg, err := h.deps.Inbox.Poll(ctx, x.Query)
	if err == nil && isEmpty(&pg) {
		pg, err = h.awaitNotices(ctx, x, pg)
	}
	return pg, "", err
}

// unchanged returns the tag of the page that the client already has, if nothing arrived while the client waited.
// unchanged returns "" if the client needs a page.
func (h *Handlers) unchanged(ctx context.Context, x *exchange) (string, error) {
	if x.known == "" {
		return "", nil
	}
	version, err := h.deps.Inbox.Version(ctx, x.Query)
	if err != nil {
		return "", err
	}
	tag := matchTag(x.known, version, x.this)
	if tag == "" {
		return "", nil
	}
	changed, err := h.wait(ctx, x, version)
	if changed {
		tag = ""
	}
	return tag, err
}

// awaitNotices waits on an empty page until something is new or the client's time is over. awaitNotices returns the
// latest page, whose cursor has moved on with the clock.
func (h *Handlers) awaitNotices(ctx context.Context, x *exchange, pg page.Page) (page.Page, error) {
	for {
		changed, err := h.wait(ctx, x, pg.Version)
		if err != nil || !changed {
			return pg, err
		}
		next, err := h.deps.Inbox.Poll(ctx, x.Query)
		if err != nil || !isEmpty(&next) || next.Unread != pg.Unread || next.UnreadMore != pg.UnreadMore {
			return next, err
		}
		pg = next
	}
}

func isEmpty(pg *page.Page) bool {
	return len(pg.Notices) == 0 && len(pg.Changes) == 0 && !pg.Reset && !pg.More
}

// wait returns true as soon as the version has changed. wait returns false when the client's time is over or the server
// stops.
func (h *Handlers) wait(ctx context.Context, x *exchange, version string) (bool, error) {
	if x.wait == 0 {
		return false, nil
	}
	began := time.Now()
	defer func() { x.waited += time.Since(began) }()
	waiting, cancel := context.WithDeadline(ctx, x.deadline)
	defer cancel()
	leave, ok := h.waiters.Enter(cancel)
	if !ok {
		return false, nil
	}
	defer leave()
	who := auth.From(ctx)
	defer api.WhenOver(waiting, who, cancel)()
	err := h.deps.Inbox.Wait(waiting, x.Query, version)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case who.Over():
		return false, who.Why()
	case waiting.Err() != nil:
		return false, nil
	}
	return err == nil, err
}

// writePage answers 200 with the page, and returns the outcome.
func (h *Handlers) writePage(w http.ResponseWriter, x *exchange, pg *page.Page) string {
	var next identity
	if !pg.More {
		q := x.Query
		q.After, q.Since = pg.Cursor, 0
		next = identify(&q, x.media, x.language)
	}
	pollHeader(w.Header(), tagOf(pg.Version, x.this, next))
	api.WriteForm(w, newPageForm(pg, api.Languages(x.language)), x.media)
	if len(pg.Notices) == 0 {
		return PollEmpty
	}
	return PollNotices
}

// cacheControl is a header value that all answers share. Nobody may append to it.
var cacheControl = []string{"private, no-cache"}

// pollHeader sets the headers of every answer to a poll, with or without a body.
func pollHeader(h http.Header, tag string) {
	h["Etag"] = []string{tag}
	if before := h["Vary"]; before == nil {
		h["Vary"] = api.Vary
	} else {
		h["Vary"] = append(slices.Clip(before), api.Vary...)
	}
	h["Cache-Control"] = cacheControl
}

// pollFailed answers a poll that failed with err, and returns its outcome.
func (h *Handlers) pollFailed(w http.ResponseWriter, r *http.Request, err error, m api.Media) string {
	if prob := api.Unauthorized(err); prob != nil {
		api.WriteProblem(w, prob, m)
		return PollRefused
	}
	switch {
	case api.Gone(r.Context()):
		return PollGone
	case errors.Is(err, page.ErrBadCursor):
		api.WriteProblem(w, badCursor(), m)
		return PollRefused
	case errors.Is(err, page.ErrUnavailable):
		h.log.LogAttrs(r.Context(), slog.LevelDebug, "Poll failed, because the inboxes are not available.", append(api.RequestAttrs(w, r), slog.Any("error", err))...)
		api.WriteProblem(w, inboxUnavailable(), m)
		return PollUnavailable
	}
	h.log.LogAttrs(r.Context(), slog.LevelError, "Poll failed.", append(api.RequestAttrs(w, r), slog.Any("error", err))...)
	api.WriteProblem(w, api.InternalProblem(), m)
	return PollFailed
}

func badCursor() *wire.Problem {
	return wire.NewProblem(http.StatusBadRequest, wire.CodeBadCursor, "the cursor does not come from this service; poll without a cursor")
}

func inboxUnavailable() *wire.Problem {
	p := wire.NewProblem(http.StatusServiceUnavailable, wire.CodeInboxUnavailable, "the inboxes cannot be reached or are being rebuilt; poll again with the same cursor")
	p.RetryAfter = 1
	return p
}

func newResetForm(pg *page.Page) wire.ResetForm {
	if !pg.Reset {
		return wire.ResetForm{}
	}
	f := wire.ResetForm{Reason: wire.ResetReason(pg.Reason)}
	if pg.Missed >= 0 {
		f.Missed = &pg.Missed
	}
	return f
}

func newPageForm(pg *page.Page, langs []string) *wire.PageForm {
	form := &wire.PageForm{
		Notices: localized(pg.Notices, langs), Changes: make([]wire.NoticeChangeForm, len(pg.Changes)), Cursor: pg.Cursor,
		Unread: pg.Unread, UnreadMore: pg.UnreadMore, More: pg.More, Reset: pg.Reset, ResetForm: newResetForm(pg),
	}
	for i, c := range pg.Changes {
		form.Changes[i] = wire.NoticeChangeForm{ID: c.ID, Kind: c.Kind}
	}
	return form
}

// localized returns each notice in the first of the languages that the notice has. localized does not change views,
// because other requests may share the page.
func localized(views []notice.View, langs []string) []notice.View {
	if views == nil {
		return []notice.View{}
	}
	if len(langs) == 0 {
		return views
	}
	out := make([]notice.View, len(views))
	for i, v := range views {
		v.Notice = api.Localize(v.Notice, langs)
		out[i] = v
	}
	return out
}

// An entity tag is "<version>-<this>-<next>": the version of the inboxes, the identity of the answered request, and the
// identity of the next request with the cursor of the page. So while nothing is new, a client gets a 304 at once for a
// repeated poll. The client also gets a 304 for the next poll, with the cursor and the tag of its last page. A tag
// never matches another warehouse, media type or language. If more follows the page, <next> is 0.

const identityLen = 16

// identity is a hash of everything that an answer depends on, except the version of the inboxes.
type identity uint64

// identify computes FNV-1a over the fields of the request. The hash need not be secure: a client who makes a collision
// only harms itself.
func identify(q *page.Query, m api.Media, language string) identity {
	h := fnvOffset
	h = h.add(q.Warehouse)
	for _, s := range q.Subscribers {
		h = h.add(s)
	}
	h = h.add("")
	for _, s := range q.Types {
		h = h.add(s)
	}
	h = h.add(strconv.FormatBool(q.Unread)).add(string(m)).add(language).add(q.After)
	return h.add(strconv.FormatInt(q.Since, 10)).add(strconv.Itoa(q.Limit))
}

const (
	fnvOffset identity = 14695981039346656037
	fnvPrime  identity = 1099511628211
)

// add adds a string and a mark of its end, so that ("a","bc") and ("ab","c") differ.
func (h identity) add(s string) identity {
	for i := range len(s) {
		h = (h ^ identity(s[i])) * fnvPrime
	}
	return (h ^ 0xff) * fnvPrime // No UTF-8 text has the byte 0xff.
}

// tagOf returns the tag of a page. this is the identity of the request that the page answers. next is 0 if there is
// more after the page.
func tagOf(version string, this, next identity) string {
	b := make([]byte, 0, len(version)+2*identityLen+4)
	b = append(b, '"')
	b = append(b, version...)
	b = append(b, '-')
	b = this.append(b)
	b = append(b, '-')
	b = next.append(b)
	return string(append(b, '"'))
}

func (h identity) append(b []byte) []byte {
	return hex.AppendEncode(b, binary.BigEndian.AppendUint64(make([]byte, 0, 8), uint64(h)))
}

// matchTag finds a tag in an If-None-Match header that says: the client already has the answer to this request at this
// version. matchTag returns "" if there is none.
func matchTag(header, version string, this identity) string {
	var buf [identityLen]byte
	want := string(this.append(buf[:0]))
	for tag := range strings.SplitSeq(header, ",") {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
		if len(tag) != len(version)+2*identityLen+4 || tag[0] != '"' || tag[len(tag)-1] != '"' || tag[1:1+len(version)] != version {
			continue
		}
		tail := tag[1+len(version) : len(tag)-1]
		if tail[0] != '-' || tail[identityLen+1] != '-' {
			continue
		}
		if tail[1:identityLen+1] == want || tail[identityLen+2:] == want {
			return tag
		}
	}
	return ""
}
