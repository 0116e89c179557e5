package search

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/rules/row"
)

// Ledger searches notices, findings and items, and reads the trace of a notice.
type Ledger interface {
	ledger.Search
	ledger.DeliveryList
	ledger.NoticeTracer
	ledger.MarkReader
}

// Deps are the dependencies of the room.
type Deps struct {
	Ledger Ledger
	Types  api.Types
	Queues map[string]view.ServedQueue // By name; may be empty.
	Logger *slog.Logger
}

// Handlers serves the search of notices and their traces.
type Handlers struct {
	deps Deps
	log  *slog.Logger
}

// New makes the room.
func New(deps Deps) *Handlers { return &Handlers{deps, deps.Logger} }

// Register adds the operations.
func (h *Handlers) Register(operations *api.Operations) {
	h.registerTrace(operations)
	h.registerSearch(operations)
	h.registerFind(operations)
}

// The bounds of a search.
const (
	maxKeyPart = 1000 // Bytes.
	maxNames   = 100  // Warehouses, and types.
)

type (
	searchInput struct {
		Warehouses []string                `query:"warehouse,explode" doc:"only notices of this warehouse; may be repeated. By default the warehouses of the token" nullable:"false"`
		Types      []string                `query:"type,explode" doc:"only notices of this type, by code or id; may be repeated" nullable:"false"`
		Statuses   []string                `query:"status,explode" doc:"only notices with this status; may be repeated: firing, resolved, event, sent" nullable:"false"`
		Rule       string                  `query:"rule" doc:"only notices of this rule" example:"negative-bin-stock"`
		Scope      string                  `query:"scope" doc:"only notices of this scope"`
		Key        string                  `query:"key" doc:"only notices whose key contains this text, in the given case; with rule and scope a whole key, such as [119240,\"A-01\"], is found at once" example:"A-01"`
		Priority   priorityFloor           `query:"priority" doc:"only notices of this priority or a higher one"`
		From       string                  `query:"from" doc:"only notices made at this time or later: RFC 3339" example:"2026-06-01T00:00:00Z"`
		To         string                  `query:"to" doc:"only notices made before this time: RFC 3339"`
		Order      api.ListOrder           `query:"order" doc:"order of the list: the latest first, or the oldest first"`
		After      string                  `query:"after" doc:"cursor of the previous page"`
		Limit      api.Limit[api.OfSearch] `query:"limit" doc:"maximum number of notices in a page"`
		Language   string                  `header:"Accept-Language" doc:"language of the titles"`
	}
	searchOutput struct {
		Vary string `header:"Vary"`
		Body wire.FoundNoticesForm
	}
)

// priorityFloor is a text, so that a bad value gets the same code everywhere.
type priorityFloor string

// Schema returns the schema of the parameter.
func (priorityFloor) Schema(huma.Registry) *huma.Schema { return api.IntegerSchema(1, 5, nil) }

func newFoundNoticeForms(list []*notice.Notice, langs []string) []wire.FoundNoticeForm {
	forms := make([]wire.FoundNoticeForm, len(list))
	for i, n := range list {
		forms[i] = wire.FoundNoticeForm{
			ID: n.ID, Type: n.Type, Warehouse: n.Warehouse, Rule: n.Rule, Scope: n.Scope, Key: n.Key, Status: string(n.Status), Priority: n.Priority,
			Title: api.Localize(n, langs).Title, Count: n.Count, CreatedAt: n.CreatedAt.UTC(), ExpiresAt: n.ExpiresAt.UTC(),
		}
	}
	return forms
}

func (h *Handlers) registerSearch(operations huma.API) {
	search := api.Operation("search-notices", http.MethodGet, "/notices/search", "notices", "Search the notices of the ledger")
	search.Description = "For operators. The search covers all notices that the ledger keeps, for all subscribers. A page reads at most 20,000 notices: the notices of the rule, or " +
		"else of the types, or else of the warehouses, or else of the time. Other filters may need more than one page; through says how far back the search has " +
		"read."
	huma.Register(operations, search, h.searchNotices)
}

// searchNotices answers GET /notices/search.
func (h *Handlers) searchNotices(ctx context.Context, in *searchInput) (*searchOutput, error) {
	f, prob := in.parse()
	if prob == nil {
		f.Warehouses, prob = searchedWarehouses(auth.From(ctx), f.Warehouses)
	}
	if prob != nil {
		return nil, prob
	}
	names := make([]*string, len(f.Types))
	for i := range f.Types {
		names[i] = &f.Types[i]
	}
	if err := h.deps.Types.Name(ctx, names...); err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	found, err := h.deps.Ledger.SearchNotices(ctx, f)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	out := &searchOutput{Vary: api.Vary[0], Body: wire.FoundNoticesForm{
		Notices: newFoundNoticeForms(found.Notices, api.Languages(in.Language)), Cursor: api.OrderedCursor(f.Oldest, noticeCursor(found.Next)),
	}}
	if found.Stopped {
		out.Body.Through = wire.Moment(found.Next.At)
	}
	return out, nil
}

// searchedWarehouses returns the requested warehouses, or else the warehouses of the token. searchedWarehouses refuses
// warehouses that the token does not allow.
func searchedWarehouses(who *auth.Identity, asked []string) ([]string, *wire.Problem) {
	for _, w := range asked {
		if prob := api.InWarehouse(who, w); prob != nil {
			return nil, prob
		}
	}
	if len(asked) > 0 || who.Everywhere() {
		return asked, nil
	}
	if len(who.Warehouses) == 0 {
		return nil, api.Denied(wire.CodeWarehouseDenied, "the search needs a warehouse"+api.Yours(nil))
	}
	return slices.Clone(who.Warehouses), nil
}

func (in *searchInput) parse() (ledger.NoticeFilter, *wire.Problem) {
	f := ledger.NoticeFilter{Rule: in.Rule, Scope: api.Optional(in.Scope), Key: in.Key}
	var prob *wire.Problem
	if f.Warehouses, prob = someNames("warehouse", in.Warehouses); prob != nil {
		return f, prob
	}
	if f.Types, prob = someNames("type", in.Types); prob != nil {
		return f, prob
	}
	if in.Rule != "" && !api.IsName(in.Rule) {
		return f, api.BadParameter("rule " + policy.Quote(in.Rule) + " is not a valid name")
	}
	for _, given := range [][2]string{{"scope", in.Scope}, {"key", in.Key}} {
		if len(given[1]) > maxKeyPart {
			return f, api.BadParameter(given[0] + " " + policy.Quote(given[1]) + " is too long: at most " + strconv.Itoa(maxKeyPart) + " bytes are allowed")
		}
	}
	if key, ok := row.CanonicalKey(f.Key); ok && f.Rule != "" && f.Scope != nil {
		f.Finding, f.Key = key, key
	}
	for _, s := range in.Statuses {
		switch status := notice.Status(s); status {
		case notice.Firing, notice.Resolved, notice.Event, notice.Sent:
			f.Statuses = append(f.Statuses, status)
		case "":
		default:
			return f, api.BadParameter("status " + policy.Quote(s) + " is not one of firing, resolved, event, sent")
		}
	}
	if in.Priority != "" {
		if len(in.Priority) != 1 || in.Priority < "1" || in.Priority > "5" {
			return f, api.BadParameter("priority " + policy.Quote(string(in.Priority)) + " is not a number from 1 to 5")
		}
		f.Priority = int(in.Priority[0] - '0')
	}
	if f.From, f.To, prob = between(in.From, in.To); prob != nil {
		return f, prob
	}
	if f.Oldest, prob = in.Order.Parse(); prob != nil {
		return f, prob
	}
	if f.Limit, prob = in.Limit.Parse(); prob != nil || in.After == "" {
		return f, prob
	}
	cursor, prob := api.ParseOrderedCursor(f.Oldest, in.After)
	if prob != nil {
		return f, prob
	}
	var ok bool
	if f.Before, ok = parseNoticeCursor(cursor); !ok {
		return f, wire.NewProblem(http.StatusBadRequest, wire.CodeBadCursor, "after "+policy.Quote(in.After)+" is not a cursor of this list")
	}
	return f, nil
}

// someNames returns the names of a list that are not empty, and checks them.
func someNames(parameter string, list []string) (names []string, prob *wire.Problem) {
	for _, name := range list {
		if name != "" && !api.IsName(name) {
			return nil, api.BadParameter(parameter + " " + policy.Quote(name) + " is not a valid name")
		}
		if name != "" {
			names = append(names, name)
		}
	}
	if len(names) > maxNames {
		return nil, api.BadParameter(parameter + " is given more than " + strconv.Itoa(maxNames) + " times")
	}
	return names, nil
}

// between parses the period of a search.
func between(from, to string) (first, last time.Time, prob *wire.Problem) {
	for _, p := range []struct {
		name, value string
		into        *time.Time
	}{{"from", from, &first}, {"to", to, &last}} {
		if p.value == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, p.value)
		if err != nil || at.Year() < 1970 {
			return first, last, api.BadParameter(p.name + " " + policy.Quote(p.value) + " is not a time such as 2026-06-01T00:00:00Z")
		}
		*p.into = at
	}
	return first, last, nil
}

// noticeCursor returns the cursor of a place, or "" for no place.
func noticeCursor(p ledger.NoticePlace) string {
	if p == (ledger.NoticePlace{}) {
		return ""
	}
	return strconv.FormatInt(p.At.UnixMicro(), 36) + "." + strconv.FormatInt(p.N, 36) + "." + p.ID
}

func parseNoticeCursor(s string) (ledger.NoticePlace, bool) {
	parts := strings.SplitN(s, ".", 3)
	if len(parts) != 3 || !api.IsName(parts[2]) {
		return ledger.NoticePlace{}, false
	}
	at, atErr := strconv.ParseInt(parts[0], 36, 64)
	n, nErr := strconv.ParseInt(parts[1], 36, 64)
	p := ledger.NoticePlace{At: time.UnixMicro(at).UTC(), N: n, ID: parts[2]}
	return p, atErr == nil && nErr == nil && at > 0 && n >= 0 && noticeCursor(p) == s
}
