package operate

import (
	"encoding/base64"
	"net/http"
	"strings"

	"tallyman/internal/api"
	"tallyman/internal/ledger"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

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
	Type       string `query:"type" required:"true" doc:"code of a type in the catalogue"`
	Warehouse  string `query:"warehouse" required:"true" doc:"a warehouse, or *"`
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
	Type       string                `query:"type" doc:"only of this type"`
	Warehouse  string                `query:"warehouse" doc:"only of this warehouse; * means those for all warehouses"`
	Subscriber string                `query:"subscriber" doc:"only of this subscriber"`
	After      string                `query:"after" doc:"the cursor of the page before"`
	Limit      api.Limit[api.OfList] `query:"limit" doc:"subscriptions in a page"`
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

// subscriptionCursor stands for the last subscription of a page.
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

// checkSubscription checks the names; whether the type is there the catalogue knows.
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
