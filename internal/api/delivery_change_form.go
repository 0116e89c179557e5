package api

import (
	"encoding/xml"
	"strings"
	"unicode/utf8"

	"tallyman/internal/ledger"
)

// The sizes of a request.
const (
	maxChangeIDs = 1000
	maxReason    = 200 // characters
)

// DeliveryChoice says which deliveries are meant.
type DeliveryChoice struct {
	IDs    []int64             `json:"ids,omitempty" maxItems:"1000" minimum:"1" doc:"these" nullable:"false"`
	Filter *DeliveryFilterForm `json:"filter,omitempty" doc:"instead of ids: every one of which all this is true; it says something at least"`
}

// DeliveryFilterForm is what is true of the deliveries.
type DeliveryFilterForm struct {
	Sink      string   `json:"sink,omitempty"`
	State     []string `json:"state,omitempty" doc:"one of these" enum:"pending,sent,failed,timed_out,canceled" nullable:"false"`
	Held      bool     `json:"held,omitempty" doc:"it waits for more than its time: a silence holds it back, or an earlier one of its finding does"`
	Warehouse string   `json:"warehouse,omitempty" doc:"of the notice"`
	Type      string   `json:"type,omitempty" doc:"of the notice"`
	Rule      string   `json:"rule,omitempty" doc:"of the notice"`
	Notice    string   `json:"notice,omitempty" doc:"its id"`
	Before    int64    `json:"before,omitempty" minimum:"1" doc:"its number is below this one"`
}

// CancelForm says why.
type CancelForm struct {
	Reason string `json:"reason,omitempty" maxLength:"200" doc:"shown as the delivery's last error" example:"the gateway had it by phone"`
}

// CancelManyForm says which deliveries are canceled, and why.
type CancelManyForm struct {
	DeliveryChoice
	CancelForm
}

// ChangedForm says what was changed.
type ChangedForm struct {
	XMLName xml.Name `json:"-" xml:"changed"`
	Changed int      `json:"changed" xml:"changed" doc:"deliveries; others stay as they are"`
	IDs     []int64  `json:"ids,omitempty" xml:"ids>id,omitempty" doc:"which of those that were named" nullable:"false"`
	Before  int64    `json:"before,omitempty" xml:"before,omitempty" doc:"there are more: ask again with it as the filter's before"`
}

// filter reads it, with the states that count where none are named.
func (c *DeliveryChoice) filter(states []ledger.DeliveryState) (ledger.DeliveryFilter, *Problem) {
	f := ledger.DeliveryFilter{}
	if (c.Filter == nil) == (len(c.IDs) == 0) {
		return f, invalidBody([]Fault{{Location: "body.ids", Message: "name some, or say a filter, and not both"}})
	}
	if c.Filter == nil {
		return f, nil
	}
	f = ledger.DeliveryFilter{
		Sink: c.Filter.Sink, Warehouse: c.Filter.Warehouse, Type: c.Filter.Type, Rule: c.Filter.Rule, Notice: c.Filter.Notice,
		Before: c.Filter.Before, Held: c.Filter.Held,
	}
	if f.Sink+f.Warehouse+f.Type+f.Rule+f.Notice == "" && !f.Held && len(c.Filter.State) == 0 {
		return f, invalidBody([]Fault{{Location: "body.filter", Message: "it names nothing, and would choose every delivery"}})
	}
	if name, value := badFilter(&f); name != "" {
		return f, invalidBody([]Fault{{Location: "body.filter." + name, Message: quote(value) + " cannot be the name of one"}})
	}
	for _, name := range c.Filter.State {
		state, _ := deliveryState(name) // the schema lets no other pass
		f.States = append(f.States, state)
	}
	switch {
	case len(f.States) > 0:
	case f.Held:
		f.States = []ledger.DeliveryState{ledger.DeliveryPending}
	default:
		f.States = states
	}
	return f, nil
}

// parse reads the reason; the default is what counts where none is given.
func (c *CancelForm) parse() (string, *Problem) {
	reason := strings.TrimSpace(c.Reason)
	switch {
	case reason == "":
		return "canceled by an operator", nil
	case utf8.RuneCountInString(reason) > maxReason:
		return "", invalidBody([]Fault{{Location: "body.reason", Message: "it has at most 200 characters"}})
	}
	return reason, nil
}
