package api

import (
	"encoding/json"
	"encoding/xml"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/notice"
)

// SendForm is a list of notices that a business system sends.
type SendForm struct {
	Notices []SendNoticeForm `json:"notices" minItems:"1" nullable:"false"`
}

// TransformSchema sets the limits.
func (SendForm) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Properties["notices"].MaxItems = new(notice.MaxRequest)
	return s
}

// SendNoticeForm is a notice that a business system sends. It says something: data, or a title, or both.
type SendNoticeForm struct {
	Type       string                  `json:"type" doc:"code of a type in the catalogue" example:"REP_NOTICE"`
	Warehouse  string                  `json:"warehouse" doc:"whose inboxes get it" example:"119240"`
	Title      string                  `json:"title,omitempty" doc:"the name of the type where it is left out, in each of its languages"`
	Body       string                  `json:"body,omitempty" text:"lines" doc:"a list of the data where it is left out"`
	Texts      map[string]SendTextForm `json:"texts,omitempty" doc:"title and body by language"`
	Data       SendData                `json:"data,omitempty" doc:"the typed fields of the type"`
	Priority   int                     `json:"priority,omitempty" default:"3" doc:"5 is the highest"`
	Modal      string                  `json:"modal,omitempty" enum:"silent,popup" default:"silent"`
	Labels     map[string]string       `json:"labels,omitempty" doc:"texts by name"`
	Expires    string                  `json:"expires,omitempty" doc:"how long it lives, in s, m, h, d; the retention of the type by default" example:"24h"`
	Recipients []string                `json:"recipients,omitempty" nullable:"false" doc:"user:<id> or role:<id>; those who subscribe to the type in the warehouse by default"`
	Deliver    []DeliverForm           `json:"deliver,omitempty" nullable:"false" doc:"where it goes; the inbox by default"`
}

// TransformSchema sets the limits.
func (SendNoticeForm) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	setTextLimits(s)
	s.Properties["warehouse"].MaxLength = new(notice.MaxName)
	s.Properties["texts"].MaxProperties = new(notice.MaxLanguages)
	s.Properties["priority"].Minimum, s.Properties["priority"].Maximum = new(float64(notice.LowestPriority)), new(float64(notice.HighestPriority))
	labels := s.Properties["labels"]
	labels.MaxProperties = new(notice.MaxLabels)
	if of, ok := labels.AdditionalProperties.(*huma.Schema); ok {
		of.MaxLength = new(notice.MaxLabel)
	}
	recipients := s.Properties["recipients"]
	recipients.MaxItems, recipients.Items.MaxLength = new(notice.MaxRecipients), new(len("user:")+maxSubscriberID)
	s.Properties["deliver"].MaxItems = new(notice.MaxSinks)
	return s
}

func setTextLimits(s *huma.Schema) {
	s.Properties["title"].MaxLength, s.Properties["body"].MaxLength = new(notice.MaxTitle), new(notice.MaxBody)
}

// SendTextForm is a translation of title and body.
type SendTextForm struct {
	Title string `json:"title,omitempty"`
	Body  string `json:"body,omitempty" text:"lines"`
}

// TransformSchema sets the limits.
func (SendTextForm) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	setTextLimits(s)
	return s
}

// DeliverForm is a sink that a notice goes to. Push channels have a strategy; the inbox and queues are tried until they take it.
type DeliverForm struct {
	Sink     string `json:"sink" doc:"name of a configured sink" example:"inbox"`
	Strategy string `json:"strategy,omitempty" enum:"immediate,delayed,important,timed" default:"immediate" doc:"immediate: one attempt; delayed: later, and only unless; important: until it succeeds; timed: until within has passed"`
	Delay    string `json:"delay,omitempty" doc:"delayed: how long after now, in s, m, h, d" example:"10m"`
	At       string `json:"at,omitempty" doc:"delayed: when, instead of delay; RFC 3339" example:"2026-06-01T18:00:00+08:00"`
	Within   string `json:"within,omitempty" doc:"timed: for how long it is tried, in s, m, h, d" example:"30m"`
	Retry    int    `json:"retry,omitempty" minimum:"0" maximum:"100" doc:"delayed: how often it is tried again"`
	Unless   string `json:"unless,omitempty" enum:"read,acked" doc:"delayed: what makes it needless, by any recipient"`
}

// SendData is the typed data as it was sent: what stands in it may mean more than Go's numbers can hold.
type SendData map[string]json.RawMessage

// Schema says that it is an object of plain values.
func (SendData) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true,
		Description: "the fields of the type by name. A decimal is a string or a number and stays exact, a time is RFC 3339",
		Examples:    []any{map[string]any{"bin": "A-01", "qty": "-3"}},
	}
}

// SentForm is what became of the notices that were sent.
type SentForm struct {
	XMLName xml.Name         `json:"-" xml:"sent"`
	Notices []SentNoticeForm `json:"notices" xml:"notice" doc:"in the order of the request" nullable:"false"`
}

// SentNoticeForm is what became of one of them.
type SentNoticeForm struct {
	ID           string `json:"id" xml:"id"`
	Deliveries   int    `json:"deliveries" xml:"deliveries" doc:"that were made of it"`
	Unsubscribed int    `json:"unsubscribed,omitempty" xml:"unsubscribed,omitempty" doc:"sinks that it did not go to, because nobody there is to have it"`
}

type (
	sendInput struct {
		Key  string `header:"Idempotency-Key" doc:"at most 255 printable characters; who repeats a request under the same key sends nothing twice"`
		Body SendForm
	}
	sendOutput struct {
		Status int
		Body   SentForm
	}
)
