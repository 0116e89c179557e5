package api

import (
	"encoding/base64"
	"encoding/xml"
	"net/http"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
)

// SubscriberForm is an entry of the address book.
type SubscriberForm struct {
	XMLName xml.Name `json:"-" xml:"subscriber"`
	ID      string   `json:"id" xml:"id" doc:"user:<id> or role:<id>" example:"user:ann"`
	SubscriberFields
}

// SubscriberFields are what the address book knows of a subscriber.
type SubscriberFields struct {
	Name     string   `json:"name,omitempty" xml:"name,omitempty" doc:"of the person or role, at most 200 characters" example:"Ann Lee"`
	Language string   `json:"language,omitempty" xml:"language,omitempty" doc:"of the texts that are pushed to it, as zh" example:"zh"`
	Mail     []string `json:"mail,omitempty" xml:"mail,omitempty" doc:"addresses, at most 50, with or without a name; a mail goes to all of them" example:"[\"Ann Lee <ann@example.com>\"]" nullable:"false"`
}

// SubscribersForm is a page of the address book.
type SubscribersForm struct {
	XMLName     xml.Name         `json:"-" xml:"subscribers"`
	Subscribers []SubscriberForm `json:"subscribers" xml:"subscriber" doc:"in the order of their ids" nullable:"false"`
	Cursor      string           `json:"cursor,omitempty" xml:"cursor,attr,omitempty" doc:"there are more: ask with it as after"`
}

type (
	subscriberID struct {
		ID string `path:"id" doc:"user:<id> or role:<id>" example:"user:ann"`
	}
	subscriberChange struct {
		ID   string `path:"id" doc:"user:<id> or role:<id>" example:"user:ann"`
		Body SubscriberFields
	}
	subscriberOutput struct {
		Status int
		Body   SubscriberForm
	}
	subscriberPage struct {
		After string        `query:"after" doc:"the cursor of the page before"`
		Limit limit[ofList] `query:"limit" doc:"subscribers in a page"`
	}
	subscribersOutput struct{ Body SubscribersForm }
)

func newSubscriberForm(s *delivery.Subscriber) SubscriberForm {
	return SubscriberForm{ID: s.ID, SubscriberFields: SubscriberFields{Name: s.Name, Language: s.Language, Mail: s.Mail}}
}

// parse reads the entry of the subscriber in the path.
func (c *subscriberChange) parse() (delivery.Subscriber, *Problem) {
	s := delivery.Subscriber{ID: c.ID, Name: c.Body.Name, Language: c.Body.Language, Mail: c.Body.Mail}
	if prob := checkSubscriberID(c.ID); prob != nil {
		return s, prob
	}
	var faults []Fault
	for _, f := range ledger.SubscriberFaults(&s) {
		faults = append(faults, Fault{Location: "body." + f.Field, Message: f.Message})
	}
	if len(faults) > 0 {
		return s, invalidBody(faults)
	}
	return s, nil
}

// checkSubscriberID refuses an id that no subscriber can have.
func checkSubscriberID(id string) *Problem {
	if !isSubscriber(id) {
		return badSubscriber(http.StatusBadRequest, "id", id)
	}
	return nil
}

// parse reads where the page begins, and how long it is.
func (p *subscriberPage) parse() (after string, limit int, prob *Problem) {
	if limit, prob = p.Limit.parse(); prob != nil {
		return "", 0, prob
	}
	if p.After == "" {
		return "", limit, nil
	}
	id, err := base64.RawURLEncoding.DecodeString(p.After)
	if err != nil || !isSubscriber(string(id)) {
		return "", 0, newProblem(http.StatusBadRequest, CodeBadCursor, "after is not a cursor of this list")
	}
	return string(id), limit, nil
}

// subscriberCursor stands for the last entry of a page.
func subscriberCursor(id string) string { return base64.RawURLEncoding.EncodeToString([]byte(id)) }
