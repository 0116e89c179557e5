package search

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/finding"
	"tallyman/internal/item"
	"tallyman/internal/ledger"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/rules/row"
)

// The bounds of a search by text.
const (
	leastText = 2   // Characters.
	mostText  = 200 // Bytes.
	mostFound = 20  // Results of each kind.
	// findTime is the time to search findings, and then again the time to search items.
	findTime = time.Second
)

type (
	findInput struct {
		Text       string   `query:"q" required:"true" doc:"text to find, in the given or in upper case: at least 2 characters" example:"A-01"`
		Warehouses []string `query:"warehouse,explode" doc:"only in this warehouse; may be repeated. By default the warehouses of the token" nullable:"false"`
		Language   string   `header:"Accept-Language" doc:"language of the titles"`
	}
	findOutput struct {
		Vary string `header:"Vary"`
		Body wire.FoundForm
	}
)

func (h *Handlers) registerFind(operations huma.API) {
	find := api.Operation("find", http.MethodGet, "/find", "notices", "Find notices, open findings and items by a bin, a SKU or an order")
	find.Description = "For operators. The answer has at most 20 notices, 20 findings and 20 items. The search covers key, texts and data of the latest 20,000 notices; key " +
		"and last row of open findings; and dedupe key, subject and payload of items. A finding whose whole key is the text, and an item whose dedupe key is " +
		"the text, are found at once. more lists the kinds that may have more results, because there are more than 20 or because a bound or the time of one " +
		"second was reached."
	huma.Register(operations, find, h.find)
}

// find answers GET /find.
func (h *Handlers) find(ctx context.Context, in *findInput) (*findOutput, error) {
	f, prob := in.parse(auth.From(ctx))
	if prob != nil {
		return nil, prob
	}
	out := &findOutput{Vary: api.Vary[0], Body: wire.FoundForm{More: []string{}}}
	for _, part := range []func(context.Context, *findInput, ledger.TextFilter, *wire.FoundForm) error{h.findNotices, h.findFindings, h.findItems} {
		if err := part(ctx, in, f, &out.Body); err != nil {
			return nil, api.LedgerFailed(ctx, h.log, err)
		}
	}
	return out, nil
}

func (in *findInput) parse(who *auth.Identity) (ledger.TextFilter, *wire.Problem) {
	text := strings.TrimSpace(in.Text)
	if utf8.RuneCountInString(text) < leastText || len(text) > mostText {
		return ledger.TextFilter{}, api.BadParameter("q " + policy.Quote(text) + " has to have 2 characters at least, and 200 bytes at most")
	}
	f := ledger.TextFilter{Limit: mostFound, Spellings: slices.Compact([]string{text, strings.ToUpper(text)})}
	for _, spelling := range f.Spellings {
		quoted, err := json.Marshal([]string{spelling})
		if err != nil {
			return ledger.TextFilter{}, api.BadParameter("q " + policy.Quote(text) + " is not valid text")
		}
		for _, key := range []string{string(quoted), "[" + spelling + "]", spelling} {
			if key, ok := row.CanonicalKey(key); ok {
				f.Keys = append(f.Keys, key)
			}
		}
	}
	asked, prob := someNames("warehouse", in.Warehouses)
	if prob == nil {
		f.Warehouses, prob = searchedWarehouses(who, asked)
	}
	return f, prob
}

func (h *Handlers) findNotices(ctx context.Context, in *findInput, f ledger.TextFilter, into *wire.FoundForm) error {
	found, err := h.deps.Ledger.SearchNotices(ctx, ledger.NoticeFilter{Spellings: f.Spellings, Warehouses: f.Warehouses, Limit: f.Limit})
	if err != nil {
		return err
	}
	into.Notices = newFoundNoticeForms(found.Notices, api.Languages(in.Language))
	into.Add("notices", found.Next == (ledger.NoticePlace{}))
	return nil
}

func (h *Handlers) findFindings(ctx context.Context, _ *findInput, f ledger.TextFilter, into *wire.FoundForm) error {
	f.Until = time.Now().Add(findTime)
	found, all, err := h.deps.Ledger.FindFindings(ctx, f)
	if err != nil {
		return err
	}
	into.Findings = make([]wire.FoundFindingForm, len(found))
	for i := range found {
		into.Findings[i] = newFoundFindingForm(&found[i])
	}
	into.Add("findings", all)
	return nil
}

func newFoundFindingForm(f *ledger.FoundFinding) wire.FoundFindingForm {
	form := wire.FoundFindingForm{
		Rule: f.Rule, Scope: f.Scope, Warehouse: f.Warehouse, Key: f.Key, State: "pending", Priority: f.Priority, Since: f.Episode.UTC(),
		NoticeID: strings.TrimSpace(f.NoticeID),
	}
	if f.Phase == finding.Firing {
		form.State, form.Since = "firing", f.FiringSince.UTC()
	}
	return form
}

// findItems searches queue by queue, and returns the items with the latest push over all queues.
func (h *Handlers) findItems(ctx context.Context, _ *findInput, f ledger.TextFilter, into *wire.FoundForm) error {
	f.Until = time.Now().Add(findTime)
	into.Items = []wire.FoundItemForm{}
	complete := true
	for _, queue := range slices.Sorted(maps.Keys(h.deps.Queues)) {
		found, all, err := h.deps.Ledger.FindItems(ctx, queue, f)
		if err != nil {
			return err
		}
		complete = complete && all
		for i := range found {
			into.Items = append(into.Items, newFoundItemForm(queue, &found[i]))
		}
	}
	slices.SortStableFunc(into.Items, func(a, b wire.FoundItemForm) int { return b.CreatedAt.Compare(a.CreatedAt) })
	shown := min(len(into.Items), f.Limit)
	into.Add("items", complete && shown == len(into.Items))
	into.Items = into.Items[:shown]
	return nil
}

func newFoundItemForm(queue string, r *item.Record) wire.FoundItemForm {
	return wire.FoundItemForm{
		Queue: queue, ID: r.ID, Warehouse: r.Warehouse, State: string(r.State), Priority: r.Priority, Key: r.DedupeKey, Subject: r.Subject, CreatedAt: r.Created.UTC(),
	}
}
