package api

import (
	"context"
	"encoding/xml"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/engine/notice"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
)

// NoticeTraceForm is a notice and what became of it.
type NoticeTraceForm struct {
	XMLName    xml.Name         `json:"-" xml:"trace"`
	Notice     notice.View      `json:"notice" xml:"notice" doc:"read and acked by anybody"`
	Deliveries []DeliveryForm   `json:"deliveries" xml:"deliveries>delivery" doc:"the latest first, 1000 at most" nullable:"false"`
	Marks      []NoticeMarkForm `json:"marks" xml:"marks>mark" doc:"who has read and acked it, in the order of time" nullable:"false"`
}

// NoticeMarkForm is what a user did with a notice.
type NoticeMarkForm struct {
	User      string    `json:"user" xml:"user" example:"user:ann"`
	Kind      string    `json:"kind" xml:"kind" enum:"read,acked"`
	Warehouse string    `json:"warehouse" xml:"warehouse"`
	At        time.Time `json:"at" xml:"at"`
}

type (
	noticeInput struct {
		ID string `path:"id" doc:"the notice"`
	}
	noticeTraceOutput struct{ Body NoticeTraceForm }
)

func (a *API) registerNoticeTrace(operations huma.API) {
	get := operation("get-notice", http.MethodGet, "/notices/{id}", "notices", "Show a notice and what became of it")
	get.Description = "For operators: the notice as the ledger has it, its deliveries to all sinks, and who has read and acked it."
	huma.Register(operations, get, a.getNotice)
}

// getNotice answers GET /notices/{id}.
func (a *API) getNotice(ctx context.Context, in *noticeInput) (*noticeTraceOutput, error) {
	missing := newProblem(http.StatusNotFound, CodeNoticeNotFound, "there is no notice "+quote(in.ID)+"; those that ended are kept for the ledger's retention")
	if !isName(in.ID) {
		return nil, missing
	}
	found, err := a.deps.Deliveries.Trace(ctx, "", "", nil, []string{in.ID}, 1)
	if err != nil {
		return nil, a.ledgerFailed(ctx, err)
	}
	if len(found) == 0 || !auth.From(ctx).InWarehouse(found[0].Notice.Warehouse) {
		return nil, missing
	}
	deliveries, err := a.deps.Deliveries.ListDeliveries(ctx, ledger.DeliveryFilter{Notice: in.ID, Limit: maxSubscriptions})
	if err != nil {
		return nil, a.ledgerFailed(ctx, err)
	}
	marks, err := a.deps.Deliveries.MarksOf(ctx, in.ID)
	if err != nil {
		return nil, a.ledgerFailed(ctx, err)
	}
	out := &noticeTraceOutput{Body: NoticeTraceForm{
		Notice: notice.View{Notice: found[0].Notice}, Deliveries: newDeliveryForms(deliveries), Marks: make([]NoticeMarkForm, len(marks)),
	}}
	for i, m := range marks {
		out.Body.Notice.Read = true
		out.Body.Notice.Acked = out.Body.Notice.Acked || m.Kind == ledger.MarkAcked
		out.Body.Marks[i] = NoticeMarkForm{User: m.User, Kind: string(m.Kind), Warehouse: m.Warehouse, At: m.At.UTC()}
	}
	return out, nil
}
