package api

import (
	"context"
	"encoding/xml"
	"errors"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/auth"
	"tallyman/internal/notice"
	"tallyman/sinks/inbox/page"
)

// SummaryForm is what a floating window shows.
type SummaryForm struct {
	XMLName    xml.Name      `json:"-" xml:"summary"`
	Unread     int           `json:"unread" xml:"unread,attr" doc:"unread notices, exact to 999"`
	UnreadMore bool          `json:"unreadMore" xml:"unreadMore,attr,omitempty" doc:"there are more than 999"`
	Popups     []notice.View `json:"popups" xml:"popups>notice" doc:"modal notices that the user has not acked, oldest first, 50 at most" nullable:"false"`
	PopupsMore bool          `json:"popupsMore" xml:"popupsMore,attr,omitempty" doc:"there are more than 50"`
	Latest     []notice.View `json:"latest" xml:"latest>notice" doc:"the last five, newest first" nullable:"false"`
	Rules      RuleCount     `json:"rules" xml:"rules"`
}

// RuleCount is how the enabled rules are that watch a warehouse.
type RuleCount struct {
	OK      int `json:"ok" xml:"ok,attr" doc:"whose last run went well, or that have not run yet"`
	Failing int `json:"failing" xml:"failing,attr" doc:"whose last run failed, or that cannot run"`
}

type (
	summaryInput struct {
		Warehouse   string   `query:"warehouse" doc:"the warehouse; may be left out by a token that has one" example:"119240"`
		Subscribers []string `query:"subscriber,explode" doc:"user:<id>, role:<id>; repeat it for more than one. Without it, those of the token" nullable:"false"`
		Language    string   `header:"Accept-Language" doc:"picks translated titles and bodies"`
	}
	summaryOutput struct {
		Vary string `header:"Vary"`
		Body SummaryForm
	}
)

func (a *API) registerSummary(operations huma.API) {
	get := operation("summarize-notices", http.MethodGet, "/notices/summary", "notices", "What a small window shows of a user's notices")
	get.Description = "Unread notices, modal notices that wait for an ack, the last five, and how the rules are whose scope is the warehouse or that have no scopes. " +
		"The rules are as they were some seconds ago."
	huma.Register(operations, get, a.summary)
}

// summary answers GET /notices/summary.
func (a *API) summary(ctx context.Context, in *summaryInput) (*summaryOutput, error) {
	p := poll{}
	for _, s := range in.Subscribers {
		if prob := p.addSubscriber(s); prob != nil {
			return nil, prob
		}
	}
	if in.Warehouse != "" && !isName(in.Warehouse) {
		return nil, badWarehouse(http.StatusBadRequest, "warehouse", in.Warehouse)
	}
	p.Warehouse = in.Warehouse
	if prob := p.finish(auth.From(ctx)); prob != nil {
		return nil, prob
	}
	sum, err := a.deps.Reads.Summary(ctx, p.Query)
	switch {
	case errors.Is(err, page.ErrUnavailable):
		return nil, inboxUnavailable()
	case err != nil:
		a.log.LogAttrs(ctx, slog.LevelError, "the inboxes cannot be summed up", slog.Any("error", err))
		return nil, internalProblem()
	}
	langs := languages(in.Language)
	return &summaryOutput{Vary: vary[0], Body: SummaryForm{
		Unread: sum.Unread, UnreadMore: sum.UnreadMore, Popups: localized(sum.Popups, langs), PopupsMore: sum.PopupsMore,
		Latest: localized(sum.Latest, langs), Rules: a.deps.RuleCount(ctx, p.Warehouse),
	}}, nil
}
