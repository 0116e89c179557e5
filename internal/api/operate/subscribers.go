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
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

func (a *Handlers) registerSubscribers(operations huma.API) {
	huma.Register(operations, api.Operation("list-subscribers", http.MethodGet, "/subscribers", "subscribers", "List the address book"), a.listSubscribers)
	huma.Register(operations, api.Operation("get-subscriber", http.MethodGet, "/subscribers/{id}", "subscribers", "Show an entry of the address book"), a.getSubscriber)
	put := api.Operation("put-subscriber", http.MethodPut, "/subscribers/{id}", "subscribers", "Add or replace an entry of the address book")
	put.Responses["201"] = &huma.Response{
		Description: "it was not there before",
		Content:     map[string]*huma.MediaType{string(api.MediaJSON): {Schema: api.SchemaOf[wire.SubscriberForm](operations.OpenAPI())}},
	}
	huma.Register(operations, put, a.putSubscriber)
	huma.Register(operations, api.Operation("delete-subscriber", http.MethodDelete, "/subscribers/{id}", "subscribers",
		"Remove an entry of the address book; the subscriptions stay"), a.deleteSubscriber)
}

// inBook is nil where the caller may read and change the address book. An entry belongs to no warehouse: whoever reads it learns the addresses of people
// of any warehouse, and whoever changes it turns mails about any warehouse to other addresses.
func inBook(ctx context.Context) *wire.Problem {
	return api.InWarehouse(auth.From(ctx), auth.AllWarehouses)
}

// listSubscribers answers GET /subscribers.
func (a *Handlers) listSubscribers(ctx context.Context, in *subscriberPage) (*subscribersOutput, error) {
	if prob := inBook(ctx); prob != nil {
		return nil, prob
	}
	after, limit, prob := in.parse()
	if prob != nil {
		return nil, prob
	}
	list, err := a.deps.Book.ListSubscribers(ctx, after, limit+1) // one more tells whether there are more
	if err != nil {
		return nil, api.LedgerFailed(ctx, a.log, err)
	}
	out := &subscribersOutput{}
	if len(list) > limit {
		list = list[:limit]
		out.Body.Cursor = subscriberCursor(list[limit-1].ID)
	}
	out.Body.Subscribers = make([]wire.SubscriberForm, len(list))
	for i := range list {
		out.Body.Subscribers[i] = newSubscriberForm(&list[i])
	}
	return out, nil
}

// getSubscriber answers GET /subscribers/{id}.
func (a *Handlers) getSubscriber(ctx context.Context, in *subscriberID) (*subscriberOutput, error) {
	if prob := inBook(ctx); prob != nil {
		return nil, prob
	}
	if prob := checkSubscriberID(in.ID); prob != nil {
		return nil, prob
	}
	found, err := a.deps.Book.Subscribers(ctx, []string{in.ID})
	if err != nil {
		return nil, api.LedgerFailed(ctx, a.log, err)
	}
	s, ok := found[in.ID]
	if !ok {
		return nil, subscriberNotFound(in.ID)
	}
	return &subscriberOutput{Status: http.StatusOK, Body: newSubscriberForm(&s)}, nil
}

// putSubscriber answers PUT /subscribers/{id}: 201, or 200 where an entry was replaced.
func (a *Handlers) putSubscriber(ctx context.Context, in *subscriberChange) (*subscriberOutput, error) {
	if prob := inBook(ctx); prob != nil {
		return nil, prob
	}
	s, prob := in.parse()
	if prob != nil {
		return nil, prob
	}
	added, err := a.deps.Book.PutSubscriber(ctx, auth.From(ctx).Author(), s)
	if err != nil {
		return nil, api.LedgerFailed(ctx, a.log, err)
	}
	a.log.LogAttrs(ctx, slog.LevelInfo, "a subscriber was put into the address book", slog.String("subscriber", s.ID))
	out := &subscriberOutput{Status: http.StatusOK, Body: newSubscriberForm(&s)}
	if added {
		out.Status = http.StatusCreated
	}
	return out, nil
}

// deleteSubscriber answers DELETE /subscribers/{id}.
func (a *Handlers) deleteSubscriber(ctx context.Context, in *subscriberID) (*struct{}, error) {
	if prob := inBook(ctx); prob != nil {
		return nil, prob
	}
	if prob := checkSubscriberID(in.ID); prob != nil {
		return nil, prob
	}
	err := a.deps.Book.DeleteSubscriber(ctx, auth.From(ctx).Author(), in.ID)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return nil, subscriberNotFound(in.ID)
	case err != nil:
		return nil, api.LedgerFailed(ctx, a.log, err)
	}
	a.log.LogAttrs(ctx, slog.LevelInfo, "a subscriber was removed from the address book", slog.String("subscriber", in.ID))
	return nil, nil //nolint:nilnil // the OpenAPI library answers 204
}

func subscriberNotFound(id string) *wire.Problem {
	return wire.NewProblem(http.StatusNotFound, wire.CodeSubscriberNotFound, "the address book has no "+policy.Quote(id))
}
