package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/auth"
	"tallyman/internal/ledger"
)

// Marks keeps what users have read and acked; see ledger.Marks.
type Marks interface {
	Mark(ctx context.Context, m ledger.Mark) error
}

// markInput says which notice a user has read or acked, and as whom it was told.
type markInput struct {
	ID          string   `path:"id" doc:"the notice"`
	Warehouse   string   `query:"warehouse" doc:"whose inbox has it; may be left out by a token that has one" example:"119240"`
	Subscribers []string `query:"subscriber,explode" doc:"the user, once, and the roles that it has: user:<id>, role:<id>. One of them at least is a recipient. Without it, those of the token" nullable:"false"`
}

func (a *API) registerMarks(operations huma.API) {
	read := operation("read-notice", http.MethodPost, "/notices/{id}/read", "notices", "A user has read a notice")
	read.Description = "Whoever repeats it changes nothing. Waiting deliveries of the notice with `unless: read` are canceled."
	huma.Register(operations, read, a.readNotice)
	ack := operation("ack-notice", http.MethodPost, "/notices/{id}/ack", "notices", "A user has acked a notice")
	ack.Description = "Whoever repeats it changes nothing. An ack is a read, too: waiting deliveries of the notice with `unless: read` or `unless: acked` are canceled."
	huma.Register(operations, ack, a.ackNotice)
}

// readNotice answers POST /notices/{id}/read.
func (a *API) readNotice(ctx context.Context, in *markInput) (*struct{}, error) {
	return a.mark(ctx, in, ledger.MarkRead)
}

// ackNotice answers POST /notices/{id}/ack.
func (a *API) ackNotice(ctx context.Context, in *markInput) (*struct{}, error) {
	return a.mark(ctx, in, ledger.MarkAcked)
}

func (a *API) mark(ctx context.Context, in *markInput, kind ledger.MarkKind) (*struct{}, error) {
	m, prob := in.parse(auth.From(ctx))
	if prob != nil {
		return nil, prob
	}
	m.Kind, m.At = kind, time.Now()
	err := a.deps.Marks.Mark(ctx, m)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return nil, newProblem(http.StatusNotFound, CodeNoticeNotFound,
			"notice "+quote(in.ID)+" is in no inbox of "+strings.Join(m.As, ", ")+" in warehouse "+m.Warehouse)
	case err != nil:
		return nil, a.ledgerFailed(ctx, err)
	}
	return nil, nil //nolint:nilnil // the OpenAPI library answers 204
}

// parse reads the mark but for its kind and time.
func (in *markInput) parse(who *auth.Identity) (ledger.Mark, *Problem) {
	m := ledger.Mark{Notice: in.ID}
	given := slices.DeleteFunc(in.Subscribers, func(s string) bool { return s == "" })
	switch {
	case in.Warehouse != "" && !isName(in.Warehouse):
		return m, badWarehouse(http.StatusBadRequest, "warehouse", in.Warehouse)
	case len(given) > maxSubscribers:
		return m, newProblem(http.StatusBadRequest, CodeBadSubscriber, "more than "+strconv.Itoa(maxSubscribers)+" subscribers")
	}
	for _, s := range given {
		switch {
		case !isSubscriber(s):
			return m, badSubscriber(http.StatusBadRequest, "subscriber", s)
		case !strings.HasPrefix(s, "user:"):
		case m.User != "":
			return m, newProblem(http.StatusBadRequest, CodeBadSubscriber, "both "+m.User+" and "+s+" are users: one user reads a notice")
		default:
			m.User = s
		}
	}
	var prob *Problem
	if m.Warehouse, m.As, prob = own(who, pollNames, in.Warehouse, given); prob != nil {
		return m, prob
	}
	if m.User == "" && (len(given) == 0 || !who.ForOthers()) {
		m.User = who.User() // who reads for a role is a user all the same
	}
	m.As = sortedUnique(m.As)
	if m.User == "" {
		return m, newProblem(http.StatusBadRequest, CodeBadSubscriber, "name the user who has read it beside the roles: subscriber=user:<id>")
	}
	return m, nil
}
