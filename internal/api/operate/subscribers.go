package operate

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

func (h *Handlers) registerSubscribers(operations huma.API) {
	huma.Register(operations, api.Operation("list-subscribers", http.MethodGet, "/subscribers", "subscribers", "List the address book"), h.listSubscribers)
	huma.Register(operations, api.Operation("get-subscriber", http.MethodGet, "/subscribers/{id}", "subscribers", "Show an entry of the address book"), h.getSubscriber)
	put := api.Operation("put-subscriber", http.MethodPut, "/subscribers/{id}", "subscribers", "Add or replace an entry of the address book")
	put.Responses["201"] = &huma.Response{
		Description: "the entry is new",
		Content:     map[string]*huma.MediaType{string(api.MediaJSON): {Schema: api.SchemaOf[wire.SubscriberForm](operations.OpenAPI())}},
	}
	huma.Register(operations, put, h.putSubscriber)
	huma.Register(operations, api.Operation("delete-subscriber", http.MethodDelete, "/subscribers/{id}", "subscribers",
		"Remove an entry of the address book; the subscriptions stay"), h.deleteSubscriber)
}

// inBook returns nil if the caller may read and change the address book. An entry belongs to no warehouse. A reader
// learns addresses of people in any warehouse, and a writer can redirect mails of any warehouse. So the token must be
// for all warehouses.
func inBook(ctx context.Context) *wire.Problem {
	return api.InWarehouse(auth.From(ctx), auth.AllWarehouses)
}

// listSubscribers answers GET /subscribers.
func (h *Handlers) listSubscribers(ctx context.Context, in *subscriberPage) (*subscribersOutput, error) {
	if prob := inBook(ctx); prob != nil {
		return nil, prob
	}
	after, limit, prob := in.parse()
	if prob != nil {
		return nil, prob
	}
	list, err := h.deps.Book.ListSubscribers(ctx, after, limit+1) // One more entry shows whether there is another page.
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
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
func (h *Handlers) getSubscriber(ctx context.Context, in *subscriberID) (*subscriberOutput, error) {
	if prob := inBook(ctx); prob != nil {
		return nil, prob
	}
	if prob := checkSubscriberID(in.ID); prob != nil {
		return nil, prob
	}
	found, err := h.deps.Book.Subscribers(ctx, []string{in.ID})
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	s, ok := found[in.ID]
	if !ok {
		return nil, subscriberNotFound(in.ID)
	}
	return &subscriberOutput{Status: http.StatusOK, Body: newSubscriberForm(&s)}, nil
}

// putSubscriber answers PUT /subscribers/{id}: 201, or 200 where an entry was replaced.
func (h *Handlers) putSubscriber(ctx context.Context, in *subscriberChange) (*subscriberOutput, error) {
	if prob := inBook(ctx); prob != nil {
		return nil, prob
	}
	s, prob := in.parse()
	if prob != nil {
		return nil, prob
	}
	added, err := h.deps.Book.PutSubscriber(ctx, auth.From(ctx).Author(), s)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	h.log.LogAttrs(ctx, slog.LevelDebug, "Subscriber was added or replaced in the address book.", slog.String("subscriber", s.ID))
	out := &subscriberOutput{Status: http.StatusOK, Body: newSubscriberForm(&s)}
	if added {
		out.Status = http.StatusCreated
	}
	return out, nil
}

// deleteSubscriber answers DELETE /subscribers/{id}.
func (h *Handlers) deleteSubscriber(ctx context.Context, in *subscriberID) (*struct{}, error) {
	if prob := inBook(ctx); prob != nil {
		return nil, prob
	}
	if prob := checkSubscriberID(in.ID); prob != nil {
		return nil, prob
	}
	err := h.deps.Book.DeleteSubscriber(ctx, auth.From(ctx).Author(), in.ID)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return nil, subscriberNotFound(in.ID)
	case err != nil:
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	h.log.LogAttrs(ctx, slog.LevelDebug, "Subscriber was removed from the address book.", slog.String("subscriber", in.ID))
	return nil, nil //nolint:nilnil // the OpenAPI library answers 204
}

func subscriberNotFound(id string) *wire.Problem {
	return wire.NewProblem(http.StatusNotFound, wire.CodeSubscriberNotFound, "the address book has no "+policy.Quote(id))
}

type (
	subscriberID struct {
		ID string `path:"id" doc:"user:<id> or role:<id>" example:"user:ann"`
	}
	subscriberChange struct {
		ID   string `path:"id" doc:"user:<id> or role:<id>" example:"user:ann"`
		Body wire.SubscriberFields
	}
	subscriberOutput struct {
		Status int
		Body   wire.SubscriberForm
	}
	subscriberPage struct {
		After string                `query:"after" doc:"cursor of the previous page"`
		Limit api.Limit[api.OfList] `query:"limit" doc:"maximum number of subscribers in a page"`
	}
	subscribersOutput struct{ Body wire.SubscribersForm }
)

func newSubscriberForm(s *delivery.Subscriber) wire.SubscriberForm {
	return wire.SubscriberForm{ID: s.ID, SubscriberFields: wire.SubscriberFields{
		Name: s.Name, Language: s.Language, Mail: s.Mail, Phone: s.Phone, Alias: s.Alias, Tags: s.Tags, Channels: s.Channels,
	}}
}

// parse parses the entry of the subscriber in the path.
func (c *subscriberChange) parse() (delivery.Subscriber, *wire.Problem) {
	s := delivery.Subscriber{
		ID: c.ID, Name: c.Body.Name, Language: c.Body.Language, Mail: c.Body.Mail, Phone: c.Body.Phone, Alias: c.Body.Alias, Tags: c.Body.Tags, Channels: c.Body.Channels,
	}
	if prob := checkSubscriberID(c.ID); prob != nil {
		return s, prob
	}
	var faults []wire.Fault
	for _, f := range ledger.SubscriberFaults(&s) {
		faults = append(faults, wire.Fault{Location: "body." + f.Field, Message: f.Message})
	}
	if len(faults) > 0 {
		return s, api.InvalidBody(faults)
	}
	return s, nil
}

// checkSubscriberID refuses an invalid id.
func checkSubscriberID(id string) *wire.Problem {
	if !api.IsSubscriber(id) {
		return api.BadSubscriber(http.StatusBadRequest, "id", id)
	}
	return nil
}

// parse parses the cursor and the limit.
func (p *subscriberPage) parse() (after string, limit int, prob *wire.Problem) {
	if limit, prob = p.Limit.Parse(); prob != nil {
		return "", 0, prob
	}
	if p.After == "" {
		return "", limit, nil
	}
	id, err := base64.RawURLEncoding.DecodeString(p.After)
	if err != nil || !api.IsSubscriber(string(id)) {
		return "", 0, wire.NewProblem(http.StatusBadRequest, wire.CodeBadCursor, "after is not a cursor of this list")
	}
	return string(id), limit, nil
}

// subscriberCursor returns the cursor of a page: the encoded id of its last entry.
func subscriberCursor(id string) string { return base64.RawURLEncoding.EncodeToString([]byte(id)) }
