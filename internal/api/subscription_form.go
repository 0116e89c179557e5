package api

import (
	"encoding/base64"
	"encoding/xml"
	"net/http"
	"strings"

	"tallyman/internal/ledger"
)

// subscriptionForm is a subscription as the API speaks it.
type subscriptionForm struct {
	XMLName    xml.Name `json:"-" xml:"subscription"`
	Type       string   `json:"type" xml:"type" doc:"code of a type in the catalogue" example:"REP_NOTICE"`
	Warehouse  string   `json:"warehouse" xml:"warehouse" doc:"a warehouse, or * for all" example:"*"`
	Subscriber string   `json:"subscriber" xml:"subscriber" doc:"user:<id> or role:<id>" example:"role:keeper"`
}

func newSubscriptionForm(s ledger.Subscription) subscriptionForm {
	return subscriptionForm{Type: s.Type, Warehouse: s.Warehouse, Subscriber: s.Subscriber}
}

func (f *subscriptionForm) subscription() ledger.Subscription {
	return ledger.Subscription{Type: f.Type, Warehouse: f.Warehouse, Subscriber: f.Subscriber}
}

type (
	subscriptionInput  struct{ Body subscriptionForm }
	subscriptionOutput struct {
		Status int
		Body   subscriptionForm
	}
	subscriptionsOutput struct{ Body subscriptionsForm }
	subscriptionsForm   struct {
		XMLName       xml.Name           `json:"-" xml:"subscriptions"`
		Subscriptions []subscriptionForm `json:"subscriptions" xml:"subscription" doc:"in the order of type, warehouse, subscriber" nullable:"false"`
		Cursor        string             `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"there are more: ask with it as after"`
	}
	importInput struct{ Body importForm }
	importForm  struct {
		Subscriptions []subscriptionForm `json:"subscriptions" maxItems:"10000" nullable:"false"`
	}
	importOutput struct{ Body importedForm }
	importedForm struct {
		XMLName xml.Name `json:"-" xml:"imported"`
		Added   int      `json:"added" xml:"added" doc:"that were new"`
		Present int      `json:"present" xml:"present" doc:"that were there already"`
	}
)

// subscriptionKey names one subscription in a query.
type subscriptionKey struct {
	Type       string `query:"type" required:"true" doc:"code of a type in the catalogue"`
	Warehouse  string `query:"warehouse" required:"true" doc:"a warehouse, or *"`
	Subscriber string `query:"subscriber" required:"true" doc:"user:<id> or role:<id>"`
}

func (k *subscriptionKey) missing() *Problem {
	switch "" {
	case k.Type:
		return missingParameter("type")
	case k.Warehouse:
		return missingParameter("warehouse")
	case k.Subscriber:
		return missingParameter("subscriber")
	}
	return nil
}

// subscriptionFilter is the query of a list.
type subscriptionFilter struct {
	Type       string        `query:"type" doc:"only of this type"`
	Warehouse  string        `query:"warehouse" doc:"only of this warehouse; * means those for all warehouses"`
	Subscriber string        `query:"subscriber" doc:"only of this subscriber"`
	After      string        `query:"after" doc:"the cursor of the page before"`
	Limit      limit[ofList] `query:"limit" doc:"subscriptions in a page"`
}

func (f *subscriptionFilter) parse() (ledger.SubscriptionFilter, *Problem) {
	filter := ledger.SubscriptionFilter{Type: f.Type, Warehouse: f.Warehouse, Subscriber: f.Subscriber}
	switch {
	case f.Type != "" && !isName(f.Type):
		return filter, newProblem(http.StatusBadRequest, CodeBadType, "type "+quote(f.Type)+" is not the code of a type")
	case f.Warehouse != "" && f.Warehouse != "*" && !isName(f.Warehouse):
		return filter, badWarehouse(http.StatusBadRequest, "warehouse", f.Warehouse)
	case f.Subscriber != "" && !isSubscriber(f.Subscriber):
		return filter, badSubscriber(http.StatusBadRequest, "subscriber", f.Subscriber)
	}
	var prob *Problem
	if filter.Limit, prob = f.Limit.parse(); prob != nil {
		return filter, prob
	}
	if f.After != "" {
		after, ok := parseSubscriptionCursor(f.After)
		if !ok {
			return filter, newProblem(http.StatusBadRequest, CodeBadCursor, "after is not a cursor of this list")
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
func checkSubscription(status int, s ledger.Subscription) *Problem {
	switch {
	case !isName(s.Type):
		return newProblem(status, CodeBadType, "type "+quote(s.Type)+" is not the code of a type")
	case s.Warehouse != "*" && !isName(s.Warehouse):
		return badWarehouse(status, "warehouse", s.Warehouse)
	case !isSubscriber(s.Subscriber):
		return badSubscriber(status, "subscriber", s.Subscriber)
	}
	return nil
}
