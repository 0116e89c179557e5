package operate

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

// listSubscriptions answers GET /subscriptions.
func (h *Handlers) listSubscriptions(ctx context.Context, in *subscriptionFilter) (*subscriptionsOutput, error) {
	if err := h.types().Name(ctx, &in.Type); err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	filter, prob := in.parse()
	if who := auth.From(ctx); prob == nil && !who.Everywhere() {
		filter.Warehouse, prob = api.OwnWarehouse(who, "warehouse", filter.Warehouse)
	}
	if prob != nil {
		return nil, prob
	}
	limit := filter.Limit
	filter.Limit++ // One more row shows whether there is another page.
	subs, err := h.deps.Catalogue.Subscriptions(ctx, filter)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	out := &subscriptionsOutput{}
	if len(subs) > limit {
		subs = subs[:limit]
		out.Body.Cursor = subscriptionCursor(subs[limit-1])
	}
	out.Body.Subscriptions = make([]wire.ListedSubscriptionForm, len(subs))
	known := h.deps.Rules.Reach()
	for i, s := range subs {
		out.Body.Subscriptions[i] = wire.ListedSubscriptionForm{Type: s.Type, Warehouse: s.Warehouse, Subscriber: s.Subscriber, Origin: s.Origin, Warning: Unserved(known, s.Type, s.Warehouse)}
	}
	return out, nil
}

// createSubscription answers POST /subscriptions: 201, or 200 where the subscription existed already.
func (h *Handlers) createSubscription(ctx context.Context, in *subscriptionInput) (*subscriptionOutput, error) {
	if err := h.types().Name(ctx, &in.Body.Type); err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	sub := parseSubscription(&in.Body)
	if prob := checkSubscription(http.StatusUnprocessableEntity, sub); prob != nil {
		return nil, prob
	}
	added, prob := h.addSubscriptions(ctx, []ledger.Subscription{sub})
	if prob != nil {
		return nil, prob
	}
	out := &subscriptionOutput{Status: http.StatusOK, Body: newSubscriptionForm(sub)}
	if added > 0 {
		out.Status = http.StatusCreated
	}
	return out, nil
}

// importSubscriptions answers POST /subscriptions/import. The ledger adds all subscriptions of the list or none.
func (h *Handlers) importSubscriptions(ctx context.Context, in *importInput) (*importOutput, error) {
	names := make([]*string, len(in.Body.Subscriptions))
	for i := range names {
		names[i] = &in.Body.Subscriptions[i].Type
	}
	if err := h.types().Name(ctx, names...); err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	subs := make([]ledger.Subscription, len(in.Body.Subscriptions))
	seen := make(map[ledger.Subscription]bool, len(subs))
	for i, form := range in.Body.Subscriptions {
		subs[i] = parseSubscription(&form)
		if prob := checkSubscription(http.StatusUnprocessableEntity, subs[i]); prob != nil {
			prob.Errors = []wire.Fault{{Location: "body.subscriptions[" + strconv.Itoa(i) + "]", Message: prob.Detail}}
			return nil, prob
		}
		seen[subs[i]] = true
	}
	added, prob := h.addSubscriptions(ctx, subs)
	if prob != nil {
		return nil, prob
	}
	return &importOutput{Body: wire.ImportedForm{Added: added, Present: len(seen) - added}}, nil
}

func (h *Handlers) addSubscriptions(ctx context.Context, subs []ledger.Subscription) (int, *wire.Problem) {
	if len(subs) == 0 {
		return 0, nil
	}
	for _, s := range subs {
		if prob := api.InWarehouse(auth.From(ctx), s.Warehouse); prob != nil {
			return 0, prob
		}
	}
	types, err := h.deps.Catalogue.Types(ctx)
	if err != nil {
		return 0, api.LedgerFailed(ctx, h.log, err)
	}
	for _, s := range subs {
		if _, ok := types[s.Type]; !ok {
			return 0, unknownType(http.StatusUnprocessableEntity, s.Type)
		}
	}
	added, err := h.deps.Catalogue.AddSubscriptions(ctx, auth.From(ctx).Author(), subs)
	switch {
	case errors.Is(err, ledger.ErrNotFound): // A type was removed in the meantime.
		return 0, wire.NewProblem(http.StatusUnprocessableEntity, wire.CodeUnknownType, "the catalogue does not have all of the types")
	case err != nil:
		return 0, api.LedgerFailed(ctx, h.log, err)
	}
	h.log.LogAttrs(ctx, slog.LevelDebug, "Subscriptions were added.", slog.Int("asked", len(subs)), slog.Int("added", added))
	return added, nil
}

// removeSubscription answers DELETE /subscriptions.
func (h *Handlers) removeSubscription(ctx context.Context, in *subscriptionKey) (*struct{}, error) {
	if err := h.types().Name(ctx, &in.Type); err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	sub := ledger.Subscription{Type: in.Type, Warehouse: in.Warehouse, Subscriber: in.Subscriber}
	if prob := in.missing(); prob != nil {
		return nil, prob
	}
	if prob := checkSubscription(http.StatusBadRequest, sub); prob != nil {
		return nil, prob
	}
	if prob := api.InWarehouse(auth.From(ctx), sub.Warehouse); prob != nil {
		return nil, prob
	}
	err := h.deps.Catalogue.RemoveSubscription(ctx, auth.From(ctx).Author(), sub)
	switch {
	case errors.Is(err, ledger.ErrHasOrigin):
		return nil, wire.NewProblem(http.StatusConflict, wire.CodeHasOrigin, "the subscription comes from a source, which would list it again; remove it from the table of the WMS")
	case errors.Is(err, ledger.ErrNotFound):
		return nil, wire.NewProblem(http.StatusNotFound, wire.CodeSubscriptionNotFound, "there is no such subscription")
	case err != nil:
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	h.log.LogAttrs(ctx, slog.LevelDebug, "Subscription was removed.",
		slog.String("type", sub.Type), slog.String("warehouse", sub.Warehouse), slog.String("subscriber", sub.Subscriber))
	return nil, nil //nolint:nilnil // the OpenAPI library answers 204
}

const maxImportBody = 4 << 20

func (h *Handlers) registerSubscriptions(operations huma.API) {
	huma.Register(operations, api.Operation("list-subscriptions", http.MethodGet, "/subscriptions", "subscriptions",
		"List subscriptions"), h.listSubscriptions)
	create := api.Operation("create-subscription", http.MethodPost, "/subscriptions", "subscriptions", "Add a subscription")
	create.DefaultStatus = http.StatusCreated
	create.Responses["200"] = &huma.Response{
		Description: "the subscription existed already",
		Content:     map[string]*huma.MediaType{string(api.MediaJSON): {Schema: api.SchemaOf[wire.SubscriptionForm](operations.OpenAPI())}},
	}
	huma.Register(operations, create, h.createSubscription)
	bulk := api.Operation("import-subscriptions", http.MethodPost, "/subscriptions/import", "subscriptions",
		"Add a list of subscriptions, all or none")
	bulk.MaxBodyBytes = maxImportBody
	huma.Register(operations, bulk, h.importSubscriptions)
	huma.Register(operations, api.Operation("delete-subscription", http.MethodDelete, "/subscriptions", "subscriptions",
		"Remove a subscription"), h.removeSubscription)
}

func newSubscriptionForm(s ledger.Subscription) wire.SubscriptionForm {
	return wire.SubscriptionForm{Type: s.Type, Warehouse: s.Warehouse, Subscriber: s.Subscriber}
}

func parseSubscription(f *wire.SubscriptionForm) ledger.Subscription {
	return ledger.Subscription{Type: f.Type, Warehouse: f.Warehouse, Subscriber: f.Subscriber}
}

type (
	subscriptionInput  struct{ Body wire.SubscriptionForm }
	subscriptionOutput struct {
		Status int
		Body   wire.SubscriptionForm
	}
	subscriptionsOutput struct{ Body wire.SubscriptionsForm }
	importInput         struct{ Body wire.ImportForm }
	importOutput        struct{ Body wire.ImportedForm }
)

// subscriptionKey names one subscription in a query.
type subscriptionKey struct {
	Type       string `query:"type" required:"true" doc:"code or id of a type in the catalogue"`
	Warehouse  string `query:"warehouse" required:"true" doc:"a warehouse, or * for all"`
	Subscriber string `query:"subscriber" required:"true" doc:"user:<id> or role:<id>"`
}

func (k *subscriptionKey) missing() *wire.Problem {
	switch "" {
	case k.Type:
		return api.MissingParameter("type")
	case k.Warehouse:
		return api.MissingParameter("warehouse")
	case k.Subscriber:
		return api.MissingParameter("subscriber")
	}
	return nil
}

// subscriptionFilter is the query of a list.
type subscriptionFilter struct {
	Type       string                `query:"type" doc:"only subscriptions to this type: code or id"`
	Warehouse  string                `query:"warehouse" doc:"only subscriptions in this warehouse; * = the subscriptions for all warehouses"`
	Subscriber string                `query:"subscriber" doc:"only subscriptions of this subscriber"`
	After      string                `query:"after" doc:"cursor of the previous page"`
	Limit      api.Limit[api.OfList] `query:"limit" doc:"maximum number of subscriptions in a page"`
}

func (f *subscriptionFilter) parse() (ledger.SubscriptionFilter, *wire.Problem) {
	filter := ledger.SubscriptionFilter{Type: f.Type, Warehouse: f.Warehouse, Subscriber: f.Subscriber}
	switch {
	case f.Type != "" && !api.IsName(f.Type):
		return filter, wire.NewProblem(http.StatusBadRequest, wire.CodeBadType, "type "+policy.Quote(f.Type)+" is not the code of a type")
	case f.Warehouse != "" && f.Warehouse != "*" && !api.IsName(f.Warehouse):
		return filter, api.BadWarehouse(http.StatusBadRequest, "warehouse", f.Warehouse)
	case f.Subscriber != "" && !api.IsSubscriber(f.Subscriber):
		return filter, api.BadSubscriber(http.StatusBadRequest, "subscriber", f.Subscriber)
	}
	var prob *wire.Problem
	if filter.Limit, prob = f.Limit.Parse(); prob != nil {
		return filter, prob
	}
	if f.After != "" {
		after, ok := parseSubscriptionCursor(f.After)
		if !ok {
			return filter, wire.NewProblem(http.StatusBadRequest, wire.CodeBadCursor, "after is not a cursor of this list")
		}
		filter.After = &after
	}
	return filter, nil
}

// subscriptionCursor returns the cursor of a page: its last subscription, encoded.
func subscriptionCursor(s ledger.Subscription) string {
	return base64.RawURLEncoding.EncodeToString([]byte(s.Type + "\n" + s.Warehouse + "\n" + s.Subscriber))
}

func parseSubscriptionCursor(cursor string) (ledger.Subscription, bool) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	parts := strings.Split(string(text), "\n")
	if err != nil || len(parts) != 3 {
		return ledger.Subscription{}, false
	}
	s := ledger.Subscription{Type: parts[0], Warehouse: parts[1], Subscriber: parts[2]}
	return s, checkSubscription(http.StatusBadRequest, s) == nil
}

// checkSubscription checks the names. The catalogue checks whether the type exists.
func checkSubscription(status int, s ledger.Subscription) *wire.Problem {
	switch {
	case !api.IsName(s.Type):
		return wire.NewProblem(status, wire.CodeBadType, "type "+policy.Quote(s.Type)+" is not the code of a type")
	case s.Warehouse != "*" && !api.IsName(s.Warehouse):
		return api.BadWarehouse(status, "warehouse", s.Warehouse)
	case !api.IsSubscriber(s.Subscriber):
		return api.BadSubscriber(status, "subscriber", s.Subscriber)
	}
	return nil
}
