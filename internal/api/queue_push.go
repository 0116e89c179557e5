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

	"tallyman/rules/strictyaml"
	"tallyman/sinks/queue/item"
)

// PushForm is a list of items to be pushed.
type PushForm struct {
	Items []PushItemForm `json:"items" minItems:"1" maxItems:"1000" nullable:"false"`
}

// PushItemForm is an item to be pushed.
type PushItemForm struct {
	ID        string  `json:"id,omitempty" maxLength:"128" doc:"who pushes again what has an id pushes it once; given by the queue by default"`
	Priority  int     `json:"priority,omitempty" minimum:"1" maximum:"5" default:"3" doc:"5 is served first"`
	Payload   Payload `json:"payload"`
	DedupeKey string  `json:"dedupeKey,omitempty" maxLength:"512" doc:"refused while another item holds the same key"`
	Delay     string  `json:"delay,omitempty" doc:"before it is ready: a duration in s, m, h, d" example:"10m"`
	Test      bool    `json:"test,omitempty" doc:"goes into the test twin"`
}

// PushedForm is what became of the items of a push.
type PushedForm struct {
	XMLName xml.Name         `json:"-" xml:"pushed"`
	Items   []PushedItemForm `json:"items" xml:"item" doc:"in the order of the request" nullable:"false"`
}

// PushedItemForm is what became of one item.
type PushedItemForm struct {
	ID      string `json:"id" xml:"id"`
	Outcome string `json:"outcome" xml:"outcome" enum:"pushed,exists,duplicate" doc:"exists: the queue has or had an item of that id; duplicate: another item holds the dedupe key"`
	Of      string `json:"of,omitempty" xml:"of,omitempty" doc:"duplicate: the item that holds the key"`
}

type (
	pushInput struct {
		queuePath
		caller
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
	q, prob := a.queue(in.Queue)
	if prob != nil {
		return nil, prob
	}
	by, prob := a.by(&in.caller, "")
	if prob != nil {
		return nil, prob
	}
	pushes, prob := twins(in.Body.Items)
	if prob != nil {
		return nil, prob
	}
	out := &pushOutput{Body: PushedForm{Items: make([]PushedItemForm, len(in.Body.Items))}}
	for test, push := range pushes {
		if len(push.items) == 0 {
			continue
		}
		results, err := q.Push(ctx, test == 1, by, push.items)
		if err != nil {
			return nil, a.queueFailed(ctx, in.Queue, "items", push.inBody(err))
		}
		for i, r := range results {
			out.Body.Items[push.at[i]] = PushedItemForm{ID: r.ID, Outcome: string(r.Outcome), Of: r.Of}
		}
	}
	return out, nil
}

// push is the part of a request that goes to one of the twins.
type push struct {
	items []item.New
	at    []int // where each stands in the request
}

// twins parts the items of a request into those of the queue and those of its test twin.
func twins(forms []PushItemForm) (pushes [2]push, prob *Problem) {
	var faults []Fault
	for i := range forms {
		p := &pushes[0]
		if forms[i].Test {
			p = &pushes[1]
		}
		parsed, err := forms[i].parse()
		if err != nil {
			faults = append(faults, Fault{Location: "body.items[" + strconv.Itoa(i) + "].delay", Message: err.Error()})
			continue
		}
		p.items, p.at = append(p.items, parsed), append(p.at, i)
	}
	if len(faults) > 0 {
		return pushes, invalidBody(faults)
	}
	return pushes, nil
}

// inBody names the item that an error is about by its place in the request.
func (p *push) inBody(err error) error {
	invalid, ok := errors.AsType[*item.InvalidError](err)
	if !ok || invalid.Index < 0 || invalid.Index >= len(p.at) {
		return err
	}
	return &item.InvalidError{Field: invalid.Field, Index: p.at[invalid.Index], Message: invalid.Message}
}

// parse reads what the schema cannot check; the rest the queue checks.
func (f *PushItemForm) parse() (item.New, error) {
	parsed := item.New{ID: f.ID, Priority: f.Priority, Payload: json.RawMessage(f.Payload), DedupeKey: f.DedupeKey}
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
