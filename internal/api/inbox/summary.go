package inbox

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

type (
	summaryInput struct {
		Warehouse   string   `query:"warehouse" doc:"the warehouse. A token with one warehouse can leave it out" example:"119240"`
		Subscribers []string `query:"subscriber,explode" doc:"user:<id>, role:<id>; repeat it for more than one. By default the subscribers of the token" nullable:"false"`
		Language    string   `header:"Accept-Language" doc:"language of titles and bodies"`
	}
	summaryOutput struct {
		Vary string `header:"Vary"`
		Body wire.SummaryForm
	}
)

func (h *Handlers) registerSummary(operations huma.API) {
	get := api.Operation("summarize-notices", http.MethodGet, "/notices/summary", "notices", "Summarize the notices of a user for a small window")
	get.Description = "The answer has the unread notices, the modal notices that wait for an ack, the last five notices, and the state of the rules. It covers the rules " +
		"whose scope is the warehouse and the rules without scopes. The state of the rules is some seconds old."
	huma.Register(operations, get, h.summary)
}

// summary answers GET /notices/summary.
func (h *Handlers) summary(ctx context.Context, in *summaryInput) (*summaryOutput, error) {
	p := pollRequest{}
	for _, s := range in.Subscribers {
		if prob := p.addSubscriber(s); prob != nil {
			return nil, prob
		}
	}
	if in.Warehouse != "" && !api.IsName(in.Warehouse) {
		return nil, api.BadWarehouse(http.StatusBadRequest, "warehouse", in.Warehouse)
	}
	p.Warehouse = in.Warehouse
	if prob := p.finish(auth.From(ctx)); prob != nil {
		return nil, prob
	}
	sum, err := h.deps.Reads.Summary(ctx, p.Query)
	switch {
	case errors.Is(err, page.ErrUnavailable):
		return nil, inboxUnavailable()
	case err != nil:
		h.log.LogAttrs(ctx, slog.LevelError, "Summary of the inboxes failed.", slog.Any("error", err))
		return nil, api.InternalProblem()
	}
	langs := api.Languages(in.Language)
	return &summaryOutput{Vary: api.Vary[0], Body: wire.SummaryForm{
		Unread: sum.Unread, UnreadMore: sum.UnreadMore, Popups: localized(sum.Popups, langs), PopupsMore: sum.PopupsMore,
		Latest: localized(sum.Latest, langs), Rules: h.deps.RuleCount(ctx, p.Warehouse),
	}}, nil
}
