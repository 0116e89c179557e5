package operate

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// Origins reads and changes the subscriptions that sources list.
type Origins interface {
	ledger.SubscriptionOrigins
	ConfirmSubscriptions(ctx context.Context, who ledger.Author, origin, hash string) (ledger.OriginChange, error)
	ReleaseSubscriptions(ctx context.Context, who ledger.Author, origin string) (released int, err error)
}

// mostRemoving is the maximum number of removed subscriptions that an answer lists.
const mostRemoving = 100

func (h *Handlers) registerOrigins(operations huma.API) {
	list := api.Operation("list-subscription-origins", http.MethodGet, "/subscriptions/origins", "subscriptions", "List the sources that list subscriptions")
	list.Description = "A query in the configuration keeps the subscriptions of a source equal to a table of the WMS. When the query fails, the last list stays in force."
	huma.Register(operations, list, h.listOrigins)
	confirm := api.Operation("confirm-subscriptions", http.MethodPost, "/subscriptions/origins/{origin}/confirm", "subscriptions", "Confirm a list of a source that removes more than half of its subscriptions")
	confirm.Description = "The list with this hash comes into force at once. If another list waits now, nothing changes."
	huma.Register(operations, confirm, h.confirmSubscriptions)
	release := api.Operation("release-subscriptions", http.MethodPost, "/subscriptions/origins/{origin}/release", "subscriptions", "Let people change the subscriptions of a source that is no longer asked")
	release.Description = "The subscriptions stay, and count as made by hand. The call is refused while the configuration has the source."
	huma.Register(operations, release, h.releaseSubscriptions)
}

// listOrigins answers GET /subscriptions/origins, for callers who see all warehouses.
func (h *Handlers) listOrigins(ctx context.Context, _ *struct{}) (*originsOutput, error) {
	if prob := api.InScope(ctx, nil); prob != nil {
		return nil, prob
	}
	origins, err := h.deps.Origins.SubscriptionOrigins(ctx)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	out := &originsOutput{Body: wire.OriginsForm{Origins: make([]wire.OriginForm, len(origins))}}
	for i := range origins {
		out.Body.Origins[i] = h.originForm(&origins[i])
	}
	return out, nil
}

func (h *Handlers) originForm(o *ledger.SubscriptionOrigin) wire.OriginForm {
	form := wire.OriginForm{
		Name: o.Name, Configured: o.Name == h.deps.Origin, Subscriptions: o.Subscriptions, Asked: o.Asked.UTC(), Answered: wire.Moment(o.Answered),
		FailedSince: wire.Moment(o.FailedSince), Error: o.Error,
	}
	if w := o.Waits; w != nil {
		form.Waits = &wire.WaitingListForm{Hash: w.Hash, Since: w.Since.UTC(), Added: len(w.Added), Removed: len(w.Removed), Removing: []wire.ListedSubscriptionForm{}}
		for _, s := range w.Removed[:min(mostRemoving, len(w.Removed))] {
			form.Waits.Removing = append(form.Waits.Removing, wire.ListedSubscriptionForm{Type: s.Type, Warehouse: s.Warehouse, Subscriber: s.Subscriber, Origin: s.Origin})
		}
	}
	return form
}

// confirmSubscriptions answers POST /subscriptions/origins/{origin}/confirm, for callers who see all warehouses.
func (h *Handlers) confirmSubscriptions(ctx context.Context, in *confirmListInput) (*confirmListOutput, error) {
	if prob := api.InScope(ctx, nil); prob != nil {
		return nil, prob
	}
	who := auth.From(ctx)
	change, err := h.deps.Origins.ConfirmSubscriptions(ctx, who.Author(), in.Origin, in.Body.Hash)
	switch {
	case errors.Is(err, ledger.ErrOtherList):
		return nil, wire.NewProblem(http.StatusConflict, wire.CodeListChanged, "this list does not wait now: the source has given another list, or the list was confirmed already; check the list that waits now, if there is one")
	case errors.Is(err, ledger.ErrNotFound):
		return nil, wire.NewProblem(http.StatusConflict, wire.CodeListChanged, "the catalogue no longer has all types of the list")
	case err != nil:
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	h.log.LogAttrs(ctx, slog.LevelWarn, "List of subscriptions was confirmed.", slog.String("source", in.Origin), slog.String("by", who.Subject),
		slog.Int("added", len(change.Added)), slog.Int("removed", len(change.Removed)))
	return &confirmListOutput{Body: wire.ConfirmedListForm{Added: len(change.Added), Removed: len(change.Removed)}}, nil
}

// releaseSubscriptions answers POST /subscriptions/origins/{origin}/release, for callers who see all warehouses.
func (h *Handlers) releaseSubscriptions(ctx context.Context, in *originKey) (*releasedOutput, error) {
	if prob := api.InScope(ctx, nil); prob != nil {
		return nil, prob
	}
	if in.Origin == h.deps.Origin {
		return nil, wire.NewProblem(http.StatusConflict, wire.CodeOriginConfigured, "the configuration has the source, which would list the subscriptions again; first remove subscriptions from the configuration of every node")
	}
	who := auth.From(ctx)
	released, err := h.deps.Origins.ReleaseSubscriptions(ctx, who.Author(), in.Origin)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return nil, wire.NewProblem(http.StatusNotFound, wire.CodeOriginNotFound, "no subscriptions come from a source of that name")
	case err != nil:
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	h.log.LogAttrs(ctx, slog.LevelInfo, "Subscriptions of a source were released.", slog.String("source", in.Origin), slog.String("by", who.Subject), slog.Int("released", released))
	return &releasedOutput{Body: wire.ReleasedForm{Released: released}}, nil
}

// originKey names a source.
type originKey struct {
	Origin string `path:"origin" doc:"name of the source" example:"wms"`
}

type (
	originsOutput    struct{ Body wire.OriginsForm }
	confirmListInput struct {
		Origin string `path:"origin" doc:"name of the source" example:"wms"`
		Body   wire.ConfirmListForm
	}
	confirmListOutput struct{ Body wire.ConfirmedListForm }
	releasedOutput    struct{ Body wire.ReleasedForm }
)
