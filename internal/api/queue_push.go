package api

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/auth"
	"tallyman/internal/item"
	"tallyman/rules/strictyaml"
)

// PushForm is a list of items to be pushed.
type PushForm struct {
	Items []PushItemForm `json:"items" minItems:"1" maxItems:"1000" nullable:"false"`
}

// PushItemForm is an item to be pushed.
type PushItemForm struct {
	ID        string  `json:"id,omitempty" maxLength:"128" doc:"who pushes again what has an id pushes it once; given by the queue by default"`
	Warehouse string  `json:"warehouse,omitempty" maxLength:"64" doc:"that the item belongs to: tokens of other warehouses do not see it. A token of one warehouse need not name it; without one only tokens for all warehouses see the item" example:"119240"`
	Priority  int     `json:"priority,omitempty" minimum:"1" maximum:"5" default:"3" doc:"5 is served first"`
	Payload   Payload `json:"payload"`
	DedupeKey string  `json:"dedupeKey,omitempty" maxLength:"512" doc:"refused while another item of the warehouse holds the same key"`
	Delay     string  `json:"delay,omitempty" doc:"before it is ready: a duration in s, m, h, d" example:"10m"`
	Test      bool    `json:"test,omitempty" doc:"it goes into the test twin; all items of a push say the same"`
}

// PushedForm is what became of the items of a push.
type PushedForm struct {
	XMLName xml.Name         `json:"-" xml:"pushed"`
	Items   []PushedItemForm `json:"items" xml:"item" doc:"in the order of the request" nullable:"false"`
}

// PushedItemForm is what became of one item.
type PushedItemForm struct {
	ID      string `json:"id" xml:"id"`
	Outcome string `json:"outcome" xml:"outcome" enum:"pushed,exists,duplicate,id_taken" doc:"exists: the queue has or had the item; duplicate: another item of the warehouse holds the dedupe key; id_taken: an item of another warehouse has the id, and nothing was pushed"`
	Of      string `json:"of,omitempty" xml:"of,omitempty" doc:"duplicate: the item that holds the key"`
}

type (
	pushInput struct {
		QueuePath
		Body PushForm
	}
	pushOutput struct{ Body PushedForm }
)

func (a *API) registerPush(operations huma.API) {
	push := operation("push-items", http.MethodPost, "/queues/{queue}/items", "queues", "Push items")
	push.Description = "Each item is pushed, or left out for its own reason, and the answer says which. They are recorded before the answer comes. " +
		"A push whose answer was lost can be repeated where its items have ids or dedupe keys."
	push.MaxBodyBytes, push.BodyReadTimeout = maxPushBody, pushBodyTimeout
	huma.Register(operations, push, a.pushItems)
}

// pushItems answers POST /queues/{queue}/items.
func (a *API) pushItems(ctx context.Context, in *pushInput) (*pushOutput, error) {
	q, by, prob := a.queueFor(ctx, in.Queue)
	if prob != nil {
		return nil, prob
	}
	items, prob := in.Body.parse(auth.From(ctx))
	if prob != nil {
		return nil, prob
	}
	results, err := q.Push(ctx, in.Body.Items[0].Test, by, items)
	if err != nil {
		return nil, a.queueFailed(ctx, in.Queue, "items", err)
	}
	out := &pushOutput{Body: PushedForm{Items: make([]PushedItemForm, len(results))}}
	for i, r := range results {
		out.Body.Items[i] = PushedItemForm{ID: r.ID, Outcome: string(r.Outcome), Of: r.Of}
	}
	return out, nil
}

// parse reads what the schema cannot check; the rest the queue checks.
func (f *PushForm) parse(who *auth.Identity) ([]item.New, *Problem) {
	items := make([]item.New, len(f.Items))
	var faults []Fault
	own := ""
	if len(who.Warehouses) == 1 && !who.Everywhere() {
		own = who.Warehouses[0]
	}
	for i := range f.Items {
		at := "body.items[" + strconv.Itoa(i) + "]."
		var err error
		if items[i], err = f.Items[i].parse(); err != nil {
			faults = append(faults, Fault{Location: at + "delay", Message: err.Error()})
		}
		switch w := &items[i].Warehouse; {
		case *w == "" && own != "":
			*w = own
		case *w == "" && !who.Everywhere():
			faults = append(faults, Fault{Location: at + "warehouse", Message: "name the warehouse that the item belongs to" + yours(who.Warehouses)})
		case *w == "":
		case !isName(*w):
			faults = append(faults, Fault{Location: at + "warehouse", Message: "it is not the name of a warehouse"})
		case !who.InWarehouse(*w):
			return nil, inWarehouse(who, *w)
		}
		if f.Items[i].Test != f.Items[0].Test { // one of two pushes could fail
			faults = append(faults, Fault{Location: at + "test", Message: "a push goes to the queue or to its test twin: all items say the same"})
		}
	}
	if len(faults) > 0 {
		return nil, invalidBody(faults)
	}
	return items, nil
}

func (f *PushItemForm) parse() (item.New, error) {
	parsed := item.New{ID: f.ID, Warehouse: f.Warehouse, Priority: f.Priority, Payload: json.RawMessage(f.Payload), DedupeKey: f.DedupeKey}
	if parsed.Priority == 0 {
		parsed.Priority = item.DefaultPriority
	}
	var err error
	parsed.Delay, err = parseSpan(f.Delay)
	return parsed, err
}

// parseSpan reads a duration that is not negative; "" is 0.
func parseSpan(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := strictyaml.ParseDuration(s)
	if err == nil && d < 0 {
		err = errors.New("it cannot be negative")
	}
	return d, err
}
