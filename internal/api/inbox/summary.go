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
		Warehouse   string   `query:"warehouse" doc:"the warehouse; may be left out by a token that has one" example:"119240"`
		Subscribers []string `query:"subscriber,explode" doc:"user:<id>, role:<id>; repeat it for more than one. Without it, those of the token" nullable:"false"`
		Language    string   `header:"Accept-Language" doc:"picks translated titles and bodies"`
	}
	summaryOutput struct {
		Vary string `header:"Vary"`
		Body wire.SummaryForm
	}
)

func (h *Handlers) registerSummary(operations huma.API) {
	get := api.Operation("summarize-notices", http.MethodGet, "/notices/summary", "notices", "What a small window shows of a user's notices")
	get.Description = "Unread notices, modal notices that wait for an ack, the last five, and how the rules are whose scope is the warehouse or that have no scopes. " +
		"The rules are as they were some seconds ago."
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
		h.log.LogAttrs(ctx, slog.LevelError, "the inboxes cannot be summed up", slog.Any("error", err))
		return nil, api.InternalProblem()
	}
	langs := api.Languages(in.Language)
	return &summaryOutput{Vary: api.Vary[0], Body: wire.SummaryForm{
		Unread: sum.Unread, UnreadMore: sum.UnreadMore, Popups: localized(sum.Popups, langs), PopupsMore: sum.PopupsMore,
		Latest: localized(sum.Latest, langs), Rules: h.deps.RuleCount(ctx, p.Warehouse),
	}}, nil
}
