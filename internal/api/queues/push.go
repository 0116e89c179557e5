package queues

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/item"
	"tallyman/internal/wire"
)

type (
	pushInput struct {
		QueuePath
		Key  string `header:"Idempotency-Key" doc:"at most 255 printable characters. A push with again that is repeated under the same key does not start the item again"`
		Body wire.PushForm
	}
	pushOutput struct{ Body wire.PushedForm }
)

func (h *Handlers) registerPush(operations huma.API) {
	push := api.Operation("push-items", http.MethodPost, "/queues/{queue}/items", "queues", "Push items")
	push.Description = "Each item is pushed or left out, and the answer says why. The ledger has the items before the answer comes. A client that lost the answer can repeat a " +
		"push whose items have ids or dedupe keys. A push with again must be repeated under the same Idempotency-Key."
	push.MaxBodyBytes, push.BodyReadTimeout = maxPushBody, pushBodyTimeout
	huma.Register(operations, push, h.pushItems)
}

// pushItems answers POST /queues/{queue}/items.
func (h *Handlers) pushItems(ctx context.Context, in *pushInput) (*pushOutput, error) {
	q, by, prob := h.queueFor(ctx, in.Queue)
	if prob != nil {
		return nil, prob
	}
	items, prob := parsePush(&in.Body, auth.From(ctx))
	if prob != nil {
		return nil, prob
	}
	if prob := api.CheckIdempotencyKey(in.Key); prob != nil {
		return nil, prob
	}
	for i := range items {
		if items[i].Again {
			items[i].Request = in.Key
		}
	}
	results, err := q.Push(ctx, in.Body.Items[0].Test, by, items)
	if err != nil {
		return nil, h.queueFailed(ctx, in.Queue, "items", err)
	}
	out := &pushOutput{Body: wire.PushedForm{Items: make([]wire.PushedItemForm, len(results))}}
	for i, r := range results {
		out.Body.Items[i] = wire.PushedItemForm{ID: r.ID, Outcome: string(r.Outcome), Of: r.Of}
	}
	return out, nil
}

// parsePush parses the fields that the schema cannot check. The queue checks the rest.
func parsePush(f *wire.PushForm, who *auth.Identity) ([]item.New, *wire.Problem) {
	items := make([]item.New, len(f.Items))
	var faults []wire.Fault
	own := ""
	if len(who.Warehouses) == 1 && !who.Everywhere() {
		own = who.Warehouses[0]
	}
	for i := range f.Items {
		at := "body.items[" + strconv.Itoa(i) + "]."
		var wrong []wire.Fault
		items[i], wrong = parsePushItem(&f.Items[i], at)
		faults = append(faults, wrong...)
		switch w := &items[i].Warehouse; {
		case *w == "" && own != "":
			*w = own
		case *w == "" && !who.Everywhere():
			faults = append(faults, wire.Fault{Location: at + "warehouse", Message: "name the warehouse that the item belongs to" + api.Yours(who.Warehouses)})
		case *w == "":
		case !api.IsName(*w):
			faults = append(faults, wire.Fault{Location: at + "warehouse", Message: "it is not the name of a warehouse"})
		case !who.InWarehouse(*w):
			return nil, api.InWarehouse(who, *w)
		}
		if f.Items[i].Test != f.Items[0].Test { // Otherwise there would be two pushes, and one could fail while the other succeeds.
			faults = append(faults, wire.Fault{Location: at + "test", Message: "a push goes either to the queue or to its test twin: give all items the same value of test"})
		}
	}
	if len(faults) > 0 {
		return nil, api.InvalidBody(faults)
	}
	return items, nil
}

func parsePushItem(f *wire.PushItemForm, at string) (item.New, []wire.Fault) {
	var faults []wire.Fault
	fail := func(field string, err error) {
		if err != nil {
			faults = append(faults, wire.Fault{Location: at + field, Message: err.Error()})
		}
	}
	parsed := item.New{ID: f.ID, Warehouse: f.Warehouse, Priority: f.Priority, Payload: json.RawMessage(f.Payload), DedupeKey: f.DedupeKey, Again: f.Again}
	if parsed.Priority == 0 {
		parsed.Priority = item.DefaultPriority
	}
	var err error
	parsed.Delay, err = api.ParseSpan(f.Delay)
	fail("delay", err)
	parsed.Order, err = item.ParseServiceOrder(f.Order)
	fail("order", err)
	return parsed, faults
}
