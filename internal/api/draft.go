package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/engine/preview"
	"tallyman/engine/rulediff"
	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

// DraftQuery is another text of a rule, and what of it is tried.
type DraftQuery struct {
	Text string
	PreviewQuery
}

// Drafted is what a draft comes to.
type Drafted struct {
	Scope    string
	Problems []wire.FileProblem // with places in the text and no file, or of the file
	Changes  []rulediff.Change
	Warnings []string
	Preview  *preview.Report // nil where the draft would not run
	Effect   *rulediff.Rule  // nil where the versions were not run
	Notes    []string
}

// largestDraft is how many bytes the text of a draft may have.
const largestDraft = 64 << 10

type (
	draftInput struct {
		ID   string `path:"id" doc:"the rule" example:"negative-bin-stock"`
		Body wire.DraftAskForm
	}
	draftOutput struct{ Body *wire.DraftForm }
)

func (a *API) registerDraft(operations huma.API) {
	op := Operation("draft-rule", http.MethodPost, "/rules/{id}/draft", "rules", "Try another text of a rule")
	op.Description = "The text is checked as its file would be, held against the running version, and run on the source, read-only, from the ledger's state. Nothing is " +
		"saved: rules come from files alone. For those who see all warehouses; who has tried a text, with its size and its SHA-256, is in the audit."
	op.MaxBodyBytes = 8 * largestDraft // escaped, and the rest
	huma.Register(operations, op, a.draft)
}

// draft answers POST /rules/{id}/draft.
func (a *API) draft(ctx context.Context, in *draftInput) (*draftOutput, error) {
	if prob := InWarehouse(auth.From(ctx), auth.AllWarehouses); prob != nil {
		return nil, prob
	}
	if len(in.Body.Text) > largestDraft {
		return nil, wire.NewProblem(http.StatusUnprocessableEntity, wire.CodeInvalidBody, "text: it has "+strconv.Itoa(len(in.Body.Text))+" bytes, at most "+strconv.Itoa(largestDraft)+" are taken")
	}
	q := DraftQuery{Text: in.Body.Text, PreviewQuery: PreviewQuery{Rule: in.ID, Scope: in.Body.Scope, At: in.Body.At, Limit: defaultPreviewed}}
	if in.Body.Limit > 0 {
		q.Limit = in.Body.Limit
	}
	if err := a.deps.Rules.Find(in.ID, nil); err != nil {
		return nil, a.rulesFailed(ctx, err)
	}
	if prob := a.order(ctx, "rule.draft", ruleObject(in.ID, q.Scope), triedState{q.At, q.Limit, newTextState(q.Text)}); prob != nil {
		return nil, prob
	}
	d, err := a.deps.Draft(ctx, q)
	if err != nil {
		return nil, a.previewFailed(ctx, err)
	}
	return &draftOutput{newDraftForm(in.ID, d)}, nil
}
