package queues

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/delivery"
	"tallyman/internal/item"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

type (
	itemsInput struct {
		QueuePath
		Warehouse string                 `query:"warehouse" doc:"only items of this warehouse"`
		State     itemState              `query:"state" doc:"only items in this state. ready is listed in the order of service; ended states and withheld list the latest push first; the other states are listed by due time (dead: by the time of death). withheld: dead items that wait for an operator since the ledger was restored"`
		Key       string                 `query:"key" maxLength:"512" doc:"only items with this dedupe key, in any state, the latest push first; instead of state"`
		Order     itemOrder              `query:"order" doc:"state: the order described for the state. waiting: ready items that have been ready longest come first, whatever their priorities"`
		Limit     api.Limit[api.OfItems] `query:"limit" doc:"maximum number of items in a page"`
		After     string                 `query:"after" doc:"cursor of the previous page"`
		Test      api.Flag               `query:"test" doc:"use the test twin"`
		Language  string                 `header:"Accept-Language" doc:"language of the titles"`
	}
	itemInput struct {
		QueuePath
		ItemPath
		Test api.Flag `query:"test" doc:"true where the item is in the test twin"`
	}
	tracedItemInput struct {
		QueuePath
		ItemPath
		Test     api.Flag `query:"test" doc:"true where the item is in the test twin"`
		Language string   `header:"Accept-Language" doc:"language of the title"`
	}
	itemsOutput struct {
		Vary string `header:"Vary"`
		Body wire.ItemsForm
	}
	tracedItemOutput struct {
		Vary string `header:"Vary"`
		Body wire.TracedItemForm
	}
	rankOutput struct{ Body wire.RankForm }
)

// itemState is a text, so that a bad value gets the same code everywhere.
type itemState string

// listed are the states that a list can ask for.
var listed = [...]item.State{
	item.Ready, item.Assigned, item.Leased, item.Delayed, item.Suspended, item.Stored, item.Dead, item.WithheldState,
	item.Done, item.Removed, item.Refused,
}

// Schema returns the schema of the parameter.
func (itemState) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Default: string(item.Ready)}
	for _, state := range listed {
		s.Enum = append(s.Enum, string(state))
	}
	return s
}

// itemOrder is a text for the same reason as itemState.
type itemOrder string

// Schema returns the schema of the parameter.
func (itemOrder) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Default: string(item.ByState), Enum: []any{string(item.ByState), string(item.ByWait)}}
}

func (h *Handlers) registerItems(operations huma.API) {
	list := api.Operation("list-items", http.MethodGet, "/queues/{queue}/items", "queues", "List items by state")
	list.Description = "The list has the items of the token's warehouses, and takes no leases. An item that moves while a client reads pages may appear twice or not at all. A " +
		"page of ended items can be short or empty although there are more; the cursor says whether there are more."
	huma.Register(operations, list, h.listItems)
	huma.Register(operations, api.Operation("get-item", http.MethodGet, "/queues/{queue}/items/{id}", "queues", "Show an item and its trace"), h.getItem)
	huma.Register(operations, api.Operation("rank-item", http.MethodGet, "/queues/{queue}/items/{id}/rank", "queues", "Show the place of a ready item in the order of service"), h.rankItem)
}

// listItems answers GET /queues/{queue}/items.
func (h *Handlers) listItems(ctx context.Context, in *itemsInput) (*itemsOutput, error) {
	query, before, prob := in.parse()
	if prob != nil {
		return nil, prob
	}
	if query.Scope, prob = scopeWithin(auth.From(ctx), in.Warehouse); prob != nil {
		return nil, prob
	}
	q, prob := h.queue(in.Queue)
	if prob != nil {
		return nil, prob
	}
	page, err := q.List(ctx, query)
	if err != nil {
		return nil, h.listFailed(ctx, in.Queue, err)
	}
	out := &itemsOutput{Vary: api.Vary[0], Body: wire.ItemsForm{Items: make([]wire.ItemForm, len(page.Items))}}
	titled := make([]*wire.ItemForm, len(page.Items))
	now := time.Now()
	for i := range page.Items {
		titled[i] = &out.Body.Items[i]
		out.Body.Items[i] = newItemForm(&page.Items[i], now)
		if query.Key == "" && query.Order != item.ByWait && !query.State.Ended() && query.State != item.WithheldState {
			out.Body.Items[i].Rank = before + int64(i) + 1
		}
	}
	h.title(ctx, in.Language, titled...)
	if page.Cursor != "" {
		out.Body.Cursor = strconv.FormatInt(before+int64(len(page.Items)), 10) + "." + page.Cursor
	}
	return out, nil
}

// listFailed converts an error of a list to a problem.
func (h *Handlers) listFailed(ctx context.Context, queue string, err error) *wire.Problem {
	invalid, ok := errors.AsType[*item.InvalidError](err)
	switch {
	case !ok:
		return h.queueFailed(ctx, queue, "", err)
	case invalid.Field == "after":
		return badItemsCursor(invalid.Message)
	}
	return api.BadParameter(invalid.Field + ": " + invalid.Message)
}

// parse parses the query. A cursor carries the number of items in the pages before the cursor, so that the ranks go on.
func (in *itemsInput) parse() (query item.Query, before int64, prob *wire.Problem) {
	query = item.Query{State: item.Ready, Limit: api.DefaultItems}
	if query.Test, prob = in.Test.Parse("test"); prob != nil {
		return query, 0, prob
	}
	if in.State != "" {
		query.State = item.State(in.State)
	}
	if !slices.Contains(listed[:], query.State) {
		return query, 0, api.BadParameter("state " + policy.Quote(string(in.State)) + " is not a state that can be listed")
	}
	if query.Key = in.Key; query.Key != "" && in.State != "" {
		return query, 0, api.BadParameter("key finds items in any state: leave out state")
	}
	switch query.Order = item.ListOrder(in.Order); query.Order {
	case "", item.ByState, item.ByWait:
	default:
		return query, 0, api.BadParameter("order " + policy.Quote(string(in.Order)) + " is neither state nor waiting")
	}
	if in.Limit != "" {
		n, err := strconv.Atoi(string(in.Limit))
		if err != nil || n < 1 || n > item.MaxBatch {
			return query, 0, wire.NewProblem(http.StatusBadRequest, wire.CodeBadLimit,
				"limit "+policy.Quote(string(in.Limit))+" is not a number from 1 to "+strconv.Itoa(item.MaxBatch))
		}
		query.Limit = n
	}
	if in.After == "" {
		return query, 0, nil
	}
	count, cursor, _ := strings.Cut(in.After, ".")
	before, err := strconv.ParseInt(count, 10, 64)
	if err != nil || before < 0 || cursor == "" {
		return query, 0, badItemsCursor("it does not come from this service")
	}
	query.After = cursor
	return query, before, nil
}

func badItemsCursor(why string) *wire.Problem {
	return wire.NewProblem(http.StatusBadRequest, wire.CodeBadCursor, "after is not a cursor of this list: "+why)
}

// getItem answers GET /queues/{queue}/items/{id}.
func (h *Handlers) getItem(ctx context.Context, in *tracedItemInput) (*tracedItemOutput, error) {
	q, test, prob := h.queueOrTwin(in.Queue, in.Test)
	if prob != nil {
		return nil, prob
	}
	traced, err := q.Get(ctx, test, view.ScopeOf(auth.From(ctx)), in.ID)
	if err != nil {
		return nil, h.queueFailed(ctx, in.Queue, "", err)
	}
	out := &tracedItemOutput{Vary: api.Vary[0], Body: newTracedItemForm(&traced, time.Now())}
	h.title(ctx, in.Language, &out.Body.ItemForm)
	return out, nil
}

// rankItem answers GET /queues/{queue}/items/{id}/rank.
func (h *Handlers) rankItem(ctx context.Context, in *itemInput) (*rankOutput, error) {
	q, test, prob := h.queueOrTwin(in.Queue, in.Test)
	if prob != nil {
		return nil, prob
	}
	rank, err := q.Rank(ctx, test, view.ScopeOf(auth.From(ctx)), in.ID)
	switch {
	case errors.Is(err, delivery.ErrNotFound):
		return nil, wire.NewProblem(http.StatusNotFound, wire.CodeItemNotFound, "no item "+policy.Quote(in.ID)+" of queue "+in.Queue+" is ready; others have no rank")
	case err != nil:
		return nil, h.queueFailed(ctx, in.Queue, "", err)
	}
	return &rankOutput{Body: wire.RankForm{ID: rank.ID, Rank: rank.Place, Score: rank.Score}}, nil
}

func newItemForm(i *item.Item, now time.Time) wire.ItemForm {
	form := wire.ItemForm{
		ID: i.ID, Warehouse: i.Warehouse, State: string(i.State), Priority: i.Priority, Order: i.Order.String(), Payload: wire.Payload(i.Payload), Attempt: i.Attempt, Failures: i.Failures,
		Suspends: i.Suspends, CreatedAt: i.Created.UTC(), ReadyAt: wire.Moment(i.Ready), Due: wire.Moment(i.Due), Worker: i.Worker, Assignee: i.Assignee,
		News: i.News,
	}
	switch i.State {
	case item.Ready:
		form.Score = i.Score()
	case item.Leased, item.Delayed, item.Suspended, item.Stored:
		left := int64(math.Ceil(max(i.Due.Sub(now), 0).Seconds()))
		form.RemainingSeconds = &left
	default: // Items in the other states do not wait for a time.
	}
	return form
}

func newTracedItemForm(t *item.TracedItem, now time.Time) wire.TracedItemForm {
	form := wire.TracedItemForm{ItemForm: newItemForm(&t.Item, now), Trace: make([]wire.MoveForm, len(t.Trace))}
	for i := range t.Trace {
		m := &t.Trace[i]
		form.Trace[i] = wire.MoveForm{
			N: m.N, At: m.At.UTC(), From: string(m.From), To: string(m.To), Attempt: m.Attempt, Failures: m.Failures, Suspends: m.Suspends,
			Due: wire.Moment(m.Due), Assignee: m.Assignee, By: m.By, Node: m.Node, Note: m.Note,
		}
		if r := m.Revision; r != nil {
			form.Trace[i].Revision = &wire.RevisionForm{Priority: r.Priority, Order: r.Order.String(), Payload: r.Source != 0, Later: r.Later}
		}
	}
	return form
}
