package inbox

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

// markInput names a notice, and the user and roles for which it is marked.
type markInput struct {
	ID          string   `path:"id" doc:"id of the notice"`
	Warehouse   string   `query:"warehouse" doc:"warehouse of the inbox that has the notice. A token with one warehouse can leave it out" example:"119240"`
	Subscribers []string `query:"subscriber,explode" doc:"the user, once, and the roles of the user: user:<id>, role:<id>. At least one of them must be a recipient. By default the subscribers of the token" nullable:"false"`
}

func (h *Handlers) registerMarks(operations huma.API) {
	read := api.Operation("read-notice", http.MethodPost, "/notices/{id}/read", "notices", "Mark a notice as read by a user")
	read.Description = "A repeated call changes nothing. The call cancels waiting deliveries of the notice with `unless: read`."
	huma.Register(operations, read, h.readNotice)
	ack := api.Operation("ack-notice", http.MethodPost, "/notices/{id}/ack", "notices", "Mark a notice as acked by a user")
	ack.Description = "A repeated call changes nothing. An acked notice is also read: the call cancels waiting deliveries of the notice with " +
		"`unless: read` or `unless: acked`."
	huma.Register(operations, ack, h.ackNotice)
}

// readNotice answers POST /notices/{id}/read.
func (h *Handlers) readNotice(ctx context.Context, in *markInput) (*struct{}, error) {
	return h.mark(ctx, in, ledger.MarkRead)
}

// ackNotice answers POST /notices/{id}/ack.
func (h *Handlers) ackNotice(ctx context.Context, in *markInput) (*struct{}, error) {
	return h.mark(ctx, in, ledger.MarkAcked)
}

func (h *Handlers) mark(ctx context.Context, in *markInput, kind ledger.MarkKind) (*struct{}, error) {
	r, prob := whoReads(auth.From(ctx), in.Warehouse, in.Subscribers)
	if prob != nil {
		return nil, prob
	}
	m := ledger.Mark{Notice: in.ID, Warehouse: r.warehouse, User: r.user, As: r.as, Kind: kind, At: time.Now()}
	err := h.deps.Marks.Mark(ctx, m)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return nil, wire.NewProblem(http.StatusNotFound, wire.CodeNoticeNotFound,
			"notice "+policy.Quote(in.ID)+" is in no inbox of "+strings.Join(m.As, ", ")+" in warehouse "+m.Warehouse)
	case err != nil:
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	told := []delivery.Mark{{Notice: m.Notice, Warehouse: m.Warehouse, User: m.User, Acked: kind == ledger.MarkAcked, At: m.At}}
	h.tellInbox(ctx, func(ctx context.Context) error { return h.deps.Reads.Mark(ctx, told) })
	return nil, nil //nolint:nilnil // the OpenAPI library answers 204
}

// whoMarks is the author and the inboxes of a mark.
type whoMarks struct {
	warehouse string
	user      string
	as        []string // The user and the roles whose inboxes have the notice; sorted, without duplicates.
}

// whoReads checks the request against the token, and returns the user and the inboxes of a mark.
func whoReads(who *auth.Identity, warehouse string, subscribers []string) (whoMarks, *wire.Problem) {
	var m whoMarks
	given := slices.DeleteFunc(subscribers, func(s string) bool { return s == "" })
	switch {
	case warehouse != "" && !api.IsName(warehouse):
		return m, api.BadWarehouse(http.StatusBadRequest, "warehouse", warehouse)
	case len(given) > maxSubscribers:
		return m, wire.NewProblem(http.StatusBadRequest, wire.CodeBadSubscriber, "more than "+strconv.Itoa(maxSubscribers)+" subscribers")
	}
	for _, s := range given {
		switch {
		case !api.IsSubscriber(s):
			return m, api.BadSubscriber(http.StatusBadRequest, "subscriber", s)
		case !strings.HasPrefix(s, "user:"):
		case m.user != "":
			return m, wire.NewProblem(http.StatusBadRequest, wire.CodeBadSubscriber, "both "+m.user+" and "+s+" are users; name only one user")
		default:
			m.user = s
		}
	}
	var prob *wire.Problem
	if m.warehouse, m.as, prob = own(who, pollNames, warehouse, given); prob != nil {
		return m, prob
	}
	if m.user == "" && (len(given) == 0 || !who.ForOthers()) {
		m.user = who.User() // The marks of a role belong to the user who reads.
	}
	m.as = api.SortedUnique(m.as)
	if m.user == "" {
		return m, wire.NewProblem(http.StatusBadRequest, wire.CodeBadSubscriber, "name the user who has read the notice, besides the roles: subscriber=user:<id>")
	}
	return m, nil
}

type readAllInput struct{ Body wire.ReadAllForm }

func (h *Handlers) registerReadAll(operations huma.API) {
	all := api.Operation("read-all-notices", http.MethodPost, "/notices/read-all", "notices", "Mark all notices up to a cursor as read")
	all.Description = "The call marks every notice in the inboxes up to the cursor as read, also notices of types that the page did not show. Later notices stay unread. A " +
		"repeated call changes nothing. The call cancels waiting deliveries of those notices with `unless: read`. Modal notices stay open until the user acks " +
		"them."
	huma.Register(operations, all, h.readAll)
}

// readAll answers POST /notices/read-all. readAll checks the cursor first, because the ledger cannot take back a
// recorded mark.
func (h *Handlers) readAll(ctx context.Context, in *readAllInput) (*struct{}, error) {
	r, prob := whoReads(auth.From(ctx), in.Body.Warehouse, in.Body.Subscribers)
	if prob != nil {
		return nil, prob
	}
	upTo, err := h.deps.Reads.UpTo(ctx, r.warehouse, in.Body.UpTo)
	switch {
	case errors.Is(err, page.ErrBadCursor):
		return nil, badCursor()
	case errors.Is(err, page.ErrForeignCursor):
		return nil, wire.NewProblem(http.StatusBadRequest, wire.CodeForeignCursor,
			"upTo is a cursor of another warehouse than "+r.warehouse+"; use a cursor from a page of this warehouse")
	case errors.Is(err, page.ErrUnavailable):
		return nil, inboxUnavailable()
	case err != nil:
		h.log.LogAttrs(ctx, slog.LevelError, "Cursor could not be resolved to its place in the inbox.", slog.Any("error", err))
		return nil, api.InternalProblem()
	}
	now := time.Now()
	_, err = h.deps.Marks.ReadAll(ctx, ledger.ReadAll{Warehouse: r.warehouse, User: r.user, Inboxes: r.as, UpTo: upTo, At: now})
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	list := make([]delivery.Watermark, len(r.as))
	for i, inbox := range r.as {
		list[i] = delivery.Watermark{Warehouse: r.warehouse, User: r.user, Inbox: inbox, Score: upTo, At: now}
	}
	h.tellInbox(ctx, func(ctx context.Context) error { return h.deps.Reads.ReadAll(ctx, list) })
	return nil, nil //nolint:nilnil // the OpenAPI library answers 204
}

// tellTimeout is how long an answer waits for Redis after the ledger has the mark.
const tellTimeout = 2 * time.Second

// tellInbox copies a mark from the ledger to the inbox. If this fails, a node copies the mark some seconds later.
func (h *Handlers) tellInbox(ctx context.Context, tell func(context.Context) error) {
	bounded, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	if err := tell(bounded); err != nil && !api.Gone(ctx) {
		h.log.LogAttrs(ctx, slog.LevelWarn, "Mark is in the ledger, but not yet in the inbox. A node copies the mark later.", slog.Any("error", err))
	}
}
