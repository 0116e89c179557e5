package api

import (
	"encoding/xml"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/rules/strictyaml"
)

// DeliveryForm is a delivery as it stands.
type DeliveryForm struct {
	XMLName     xml.Name      `json:"-" xml:"delivery"`
	ID          int64         `json:"id" xml:"id" doc:"its number"`
	Sink        string        `json:"sink" xml:"sink"`
	State       string        `json:"state" xml:"state" enum:"pending,sent,failed,timed_out,canceled"`
	Flag        int           `json:"flag" xml:"flag" doc:"the state as a number: 0 pending, 1 sent, 2 failed, 3 timed out, 4 canceled"`
	Notice      string        `json:"notice" xml:"notice" doc:"its id"`
	Type        string        `json:"type" xml:"type"`
	Warehouse   string        `json:"warehouse" xml:"warehouse"`
	Rule        string        `json:"rule,omitempty" xml:"rule,omitempty" doc:"absent where a business system sent the notice"`
	Status      string        `json:"status" xml:"status" enum:"firing,resolved,event,sent" doc:"of the notice"`
	Title       string        `json:"title" xml:"title" doc:"of the notice"`
	Recipients  []string      `json:"recipients,omitempty" xml:"recipient,omitempty" doc:"whose it is; absent where the sink has no recipients" nullable:"false"`
	Strategy    *StrategyForm `json:"strategy,omitempty" xml:"strategy,omitempty" doc:"absent for the inbox and queues, which are tried until they have taken it"`
	Attempts    int           `json:"attempts" xml:"attempts"`
	LastError   string        `json:"lastError,omitempty" xml:"lastError,omitempty" doc:"of the last attempt that failed, or why it was canceled"`
	NextAttempt *time.Time    `json:"nextAttempt,omitempty" xml:"nextAttempt,omitempty" doc:"the earliest time of the next attempt; while a node has it, when another may take it up"`
	Deadline    *time.Time    `json:"deadline,omitempty" xml:"deadline,omitempty" doc:"timed: when it gives up"`
	Behind      bool          `json:"behind,omitempty" xml:"behind,omitempty" doc:"it waits for an earlier delivery of the same finding to the same sink"`
	InFront     int64         `json:"inFront,omitempty" xml:"inFront,omitempty" doc:"behind: the number of the one that goes first"`
	HeldBy      string        `json:"heldBy,omitempty" xml:"heldBy,omitempty" doc:"the silence that holds it back; it is looked at again at nextAttempt, or when somebody ends that"`
	Node        string        `json:"node,omitempty" xml:"node,omitempty" doc:"that has it in hand now"`
	CreatedAt   time.Time     `json:"createdAt" xml:"createdAt" doc:"of the notice"`
	ExpiresAt   *time.Time    `json:"expiresAt,omitempty" xml:"expiresAt,omitempty" doc:"of the notice; what is pending then is canceled"`
	SentAt      *time.Time    `json:"sentAt,omitempty" xml:"sentAt,omitempty"`
}

// StrategyForm is how a push channel is tried.
type StrategyForm struct {
	Kind   string     `json:"kind" xml:"kind" enum:"immediate,delayed,important,timed"`
	Delay  string     `json:"delay,omitempty" xml:"delay,omitempty" doc:"delayed: from the notice to the first attempt" example:"10m"`
	At     *time.Time `json:"at,omitempty" xml:"at,omitempty" doc:"delayed: the time of the first attempt, instead of a delay"`
	Within string     `json:"within,omitempty" xml:"within,omitempty" doc:"timed: how long it is tried"`
	Retry  int        `json:"retry,omitempty" xml:"retry,omitempty" doc:"delayed: attempts after the first"`
	Unless string     `json:"unless,omitempty" xml:"unless,omitempty" enum:"read,acked,resolved" doc:"delayed: what cancels it while it waits"`
}

// DeliveriesForm is a page of deliveries.
type DeliveriesForm struct {
	XMLName    xml.Name       `json:"-" xml:"deliveries"`
	Deliveries []DeliveryForm `json:"deliveries" xml:"delivery" doc:"the latest first" nullable:"false"`
	Before     int64          `json:"before,omitempty" xml:"before,attr,omitempty" doc:"there are more: ask with it as before"`
}

func newDeliveryForms(list []ledger.DeliveryRecord) []DeliveryForm {
	forms := make([]DeliveryForm, len(list))
	for i := range list {
		forms[i] = newDeliveryForm(&list[i])
	}
	return forms
}

func newDeliveryForm(d *ledger.DeliveryRecord) DeliveryForm {
	return DeliveryForm{
		ID: d.Seq, Sink: d.Lane.Sink, State: d.State.String(), Flag: int(d.State), Notice: d.Notice, Type: d.Type, Warehouse: d.Where, Rule: d.Rule,
		Status: d.Status, Title: d.Title, Recipients: d.Recipients, Strategy: newStrategyForm(d.Strategy), Attempts: d.Attempts,
		LastError: d.LastError, NextAttempt: timeOrNil(d.Next), Deadline: timeOrNil(d.Deadline), Behind: d.Behind, InFront: d.InFront, HeldBy: d.HeldBy, Node: d.Node,
		CreatedAt: d.Created.UTC(), ExpiresAt: timeOrNil(d.Expires), SentAt: timeOrNil(d.SentAt),
	}
}

func newStrategyForm(s *delivery.Strategy) *StrategyForm {
	if s == nil {
		return nil
	}
	f := &StrategyForm{Kind: string(s.Kind), Retry: s.Retry, Unless: string(s.Unless)}
	switch {
	case s.Kind == delivery.Timed:
		f.Within = strictyaml.FormatDuration(s.Within)
	case s.Kind != delivery.Delayed:
	case !s.At.IsZero():
		f.At = timeOrNil(s.At)
	default:
		f.Delay = strictyaml.FormatDuration(s.Delay)
	}
	return f
}

// deliveryID is a delivery's number, read as text so that a bad one gets the code that it has everywhere.
type deliveryID string

// Schema says what the text has to be.
func (deliveryID) Schema(huma.Registry) *huma.Schema {
	least := 1.0
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: &least}
}

func (id deliveryID) parse() (int64, bool) {
	n, err := strconv.ParseInt(string(id), 10, 64)
	return n, err == nil && n > 0
}

// deliveryStates are all of them, in the order of their numbers.
var deliveryStates = [...]ledger.DeliveryState{
	ledger.DeliveryPending, ledger.DeliverySent, ledger.DeliveryFailed, ledger.DeliveryTimedOut, ledger.DeliveryCanceled,
}

func deliveryState(name string) (ledger.DeliveryState, bool) {
	for _, s := range deliveryStates {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// stateNames lists the states for people.
func stateNames() string {
	names := make([]string, len(deliveryStates))
	for i, s := range deliveryStates {
		names[i] = s.String()
	}
	return strings.Join(names, ", ")
}
