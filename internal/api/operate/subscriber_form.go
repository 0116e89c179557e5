package operate

import (
	"encoding/base64"
	"net/http"

	"tallyman/internal/api"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

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
		After string                `query:"after" doc:"the cursor of the page before"`
		Limit api.Limit[api.OfList] `query:"limit" doc:"subscribers in a page"`
	}
	subscribersOutput struct{ Body wire.SubscribersForm }
)

func newSubscriberForm(s *delivery.Subscriber) wire.SubscriberForm {
	return wire.SubscriberForm{ID: s.ID, SubscriberFields: wire.SubscriberFields{Name: s.Name, Language: s.Language, Mail: s.Mail}}
}

// parse reads the entry of the subscriber in the path.
func (c *subscriberChange) parse() (delivery.Subscriber, *wire.Problem) {
	s := delivery.Subscriber{ID: c.ID, Name: c.Body.Name, Language: c.Body.Language, Mail: c.Body.Mail}
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

// checkSubscriberID refuses an id that no subscriber can have.
func checkSubscriberID(id string) *wire.Problem {
	if !api.IsSubscriber(id) {
		return api.BadSubscriber(http.StatusBadRequest, "id", id)
	}
	return nil
}

// parse reads where the page begins, and how long it is.
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

// subscriberCursor stands for the last entry of a page.
func subscriberCursor(id string) string { return base64.RawURLEncoding.EncodeToString([]byte(id)) }
