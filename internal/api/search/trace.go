package search

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

// The bounds of a trace.
const (
	maxEpisode    = 100  // Other notices of the episode.
	maxDeliveries = 1000 // Deliveries of the notice.
)

type (
	noticeInput struct {
		ID string `path:"id" doc:"id of the notice"`
	}
	noticeTraceOutput struct{ Body wire.NoticeTraceForm }
)

func (h *Handlers) registerTrace(operations huma.API) {
	get := api.Operation("get-notice", http.MethodGet, "/notices/{id}", "notices", "Show a notice and its history")
	get.Description = "For operators. The answer has the notice from the ledger, its run, the other notices of its episode, its deliveries to all sinks with the queue items, " +
		"and the users who have read and acked it."
	huma.Register(operations, get, h.getNotice)
}

// getNotice answers GET /notices/{id}.
func (h *Handlers) getNotice(ctx context.Context, in *noticeInput) (*noticeTraceOutput, error) {
	missing := wire.NewProblem(http.StatusNotFound, wire.CodeNoticeNotFound, "there is no notice "+policy.Quote(in.ID)+"; the ledger only keeps expired notices for its retention time")
	if !api.IsName(in.ID) {
		return nil, missing
	}
	found, err := h.deps.Ledger.Trace(ctx, "", "", nil, []string{in.ID}, 1)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	if len(found) == 0 || !auth.From(ctx).InWarehouse(found[0].Notice.Warehouse) {
		return nil, missing
	}
	form, err := h.traceOf(ctx, found[0].Notice)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	return &noticeTraceOutput{Body: *form}, nil
}

// traceOf reads everything about a notice from the ledger, and the items from the queues.
func (h *Handlers) traceOf(ctx context.Context, n *notice.Notice) (*wire.NoticeTraceForm, error) {
	form := &wire.NoticeTraceForm{Notice: notice.View{Notice: n}, Texts: textsOf(n), Origin: n.Origin().String()}
	var err error
	if form.Run, err = h.runOf(ctx, n); err != nil {
		return nil, err
	}
	if form.Siblings, err = h.episodeOf(ctx, n); err != nil {
		return nil, err
	}
	deliveries, err := h.deps.Ledger.ListDeliveries(ctx, ledger.DeliveryFilter{Notice: n.ID, Limit: maxDeliveries})
	if err != nil {
		return nil, err
	}
	form.Deliveries, form.Items = view.NewDeliveryForms(deliveries), h.itemsOf(ctx, n, deliveries)
	marks, err := h.deps.Ledger.MarksOf(ctx, n.ID)
	if err != nil {
		return nil, err
	}
	form.Marks = make([]wire.NoticeMarkForm, len(marks))
	for i, m := range marks {
		form.Notice.Read = true
		form.Notice.Acked = form.Notice.Acked || m.Kind == ledger.MarkAcked
		form.Marks[i] = wire.NoticeMarkForm{User: m.User, Kind: string(m.Kind), Warehouse: m.Warehouse, At: m.At.UTC()}
	}
	return form, nil
}

// textsOf returns the texts of the notice in all languages but its first.
func textsOf(n *notice.Notice) []wire.NoticeTextForm {
	texts := make([]wire.NoticeTextForm, 0, len(n.Texts))
	for _, lang := range slices.Sorted(maps.Keys(n.Texts)) {
		texts = append(texts, wire.NoticeTextForm{Language: lang, Title: n.Texts[lang].Title, Body: n.Texts[lang].Body})
	}
	return texts
}

// runOf returns the run that made the notice, if the ledger still has it. The caller only sees data of the run if the
// token allows the scope.
func (h *Handlers) runOf(ctx context.Context, n *notice.Notice) (*wire.RuleRunForm, error) {
	if n.Status == notice.Sent {
		return nil, nil //nolint:nilnil // no run made it
	}
	run, err := h.deps.Ledger.RunAt(ctx, n.Rule, n.Scope, n.CreatedAt)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil //nolint:nilnil // the ledger has it no more
	}
	if err != nil {
		return nil, err
	}
	form := view.NewRuleRunForm(&run)
	api.OwnRun(ctx, run.Scope, &form.RunStatus)
	return &form, nil
}

// episodeOf returns the other notices of the finding's episode that the caller may see.
func (h *Handlers) episodeOf(ctx context.Context, n *notice.Notice) ([]wire.FoundNoticeForm, error) {
	if n.Status == notice.Sent {
		return []wire.FoundNoticeForm{}, nil
	}
	f := ledger.NoticeFilter{Rule: n.Rule, Scope: &n.Scope, Finding: n.Key, Episode: n.Episode, Limit: maxEpisode}
	if who := auth.From(ctx); !who.Everywhere() {
		f.Warehouses = slices.Clone(who.Warehouses)
	}
	found, err := h.deps.Ledger.SearchNotices(ctx, f)
	if err != nil {
		return nil, err
	}
	return newFoundNoticeForms(slices.DeleteFunc(found.Notices, func(o *notice.Notice) bool { return o.ID == n.ID }), nil), nil
}

// itemsOf reads the items that queues made from the notice. An item has the id of its notice. A resolution makes no
// item; it only takes items back.
func (h *Handlers) itemsOf(ctx context.Context, n *notice.Notice, deliveries []ledger.DeliveryRecord) []wire.NoticeItemForm {
	items := []wire.NoticeItemForm{}
	for i := range deliveries {
		d := &deliveries[i]
		q, ok := h.deps.Queues[d.Lane.Sink]
		if !ok || n.Status == notice.Resolved || d.State != ledger.DeliverySent {
			continue
		}
		form := wire.NoticeItemForm{Delivery: d.Seq, Queue: d.Lane.Sink, ID: n.ID}
		found, err := q.Get(ctx, false, view.ScopeOf(auth.From(ctx)), n.ID)
		switch {
		case errors.Is(err, delivery.ErrNotFound):
			continue
		case err == nil:
			form.State = string(found.Item.State)
		}
		items = append(items, form)
	}
	return items
}
