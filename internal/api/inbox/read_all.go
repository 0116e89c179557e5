package inbox

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

type readAllInput struct{ Body wire.ReadAllForm }

func (h *Handlers) registerReadAll(operations huma.API) {
	all := api.Operation("read-all-notices", http.MethodPost, "/notices/read-all", "notices", "A user has read everything up to a cursor")
	all.Description = "Everything in the inboxes up to the cursor's place is read, whatever types the page had. What came later stays unread. Whoever repeats it " +
		"changes nothing. Waiting deliveries of those notices with `unless: read` are canceled; modal notices stay open until they are acked."
	huma.Register(operations, all, h.readAll)
}

// readAll answers POST /notices/read-all. The cursor is looked at first, since a ledger that has recorded a place must not take it back.
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
			"upTo is a cursor of another warehouse than "+r.warehouse+"; give one that a page of this warehouse had")
	case errors.Is(err, page.ErrUnavailable):
		return nil, inboxUnavailable()
	case err != nil:
		h.log.LogAttrs(ctx, slog.LevelError, "a cursor could not be placed", slog.Any("error", err))
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

// tellTimeout bounds how long an answer waits for Redis after the ledger has the mark.
const tellTimeout = 2 * time.Second

// tellInbox brings into the inbox what the ledger has already. Where that fails the inbox has it some seconds later.
func (h *Handlers) tellInbox(ctx context.Context, tell func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	if err := tell(ctx); err != nil && ctx.Err() == nil {
		h.log.LogAttrs(ctx, slog.LevelWarn, "a mark is in the ledger and not in the inbox yet", slog.Any("error", err))
	}
}
