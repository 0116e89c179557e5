package rulebook

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/engine"
	"tallyman/engine/trial/rulediff"
	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/authoring"
	"tallyman/internal/wire"
)

// largestDraft is the maximum size of a draft, in bytes.
const largestDraft = 64 << 10

type (
	draftInput struct {
		ID   string `path:"id" doc:"id of the rule" example:"negative-bin-stock"`
		Body wire.DraftAskForm
	}
	draftOutput struct{ Body *wire.DraftForm }
)

func (h *Handlers) registerDraft(operations huma.API) {
	op := api.Operation("draft-rule", http.MethodPost, "/rules/{id}/draft", "rules", "Try another text of a rule")
	op.Description = "The node checks the text like a rule file, compares it with the running version, and runs it read-only on the source, from the ledger's state. Nothing " +
		"is saved, because rules come only from files. The token must be for all warehouses. The audit records who tried a text, with the size and the SHA-256 " +
		"of the text. With check the node only checks the text."
	op.MaxBodyBytes = 8 * largestDraft // Room for escapes in the JSON text, and for the other members.
	huma.Register(operations, op, h.draft)
}

// draft answers POST /rules/{id}/draft.
func (h *Handlers) draft(ctx context.Context, in *draftInput) (*draftOutput, error) {
	if prob := api.InWarehouse(auth.From(ctx), auth.AllWarehouses); prob != nil {
		return nil, prob
	}
	if len(in.Body.Text) > largestDraft {
		return nil, wire.NewProblem(http.StatusUnprocessableEntity, wire.CodeInvalidBody, "text: it has "+strconv.Itoa(len(in.Body.Text))+" bytes; at most "+strconv.Itoa(largestDraft)+" are allowed")
	}
	q := authoring.DraftRequest{Text: in.Body.Text, Check: in.Body.Check, File: in.Body.File, PreviewRequest: authoring.PreviewRequest{Rule: in.ID, Scope: in.Body.Scope, At: in.Body.At, Limit: defaultPreviewed}}
	if in.Body.Limit > 0 {
		q.Limit = in.Body.Limit
	}
	if err := h.deps.Rules.Find(in.ID, nil); err != nil {
		return nil, h.rulesFailed(ctx, err)
	}
	if q.Check { // A check runs nothing, so it needs no audit record.
		return h.drafted(ctx, q)
	}
	if prob := h.order(ctx, "rule.draft", ruleObject(in.ID, q.Scope), triedState{q.At, q.Limit, newTextState(q.Text)}); prob != nil {
		return nil, prob
	}
	return h.drafted(ctx, q)
}

func (h *Handlers) drafted(ctx context.Context, q authoring.DraftRequest) (*draftOutput, error) {
	d, err := h.deps.Draft(ctx, q)
	if err != nil {
		return nil, h.previewFailed(ctx, err)
	}
	return &draftOutput{newDraftForm(q.Rule, d)}, nil
}

func newDraftForm(id string, d *authoring.DraftResult) *wire.DraftForm {
	f := &wire.DraftForm{
		Rule: id, Scope: d.Scope, Problems: view.FileProblems(d.Problems), Fields: make([]wire.ChangedFieldForm, len(d.Changes)), Warnings: wire.NotNil(d.Warnings), Lints: view.FileProblems(d.Lints),
		Effect: newEffectForm(d.Effect), Notes: wire.NotNil(d.Notes),
	}
	for i, c := range d.Changes {
		f.Fields[i] = wire.ChangedFieldForm{Path: c.Field, Before: c.Old, After: c.New}
	}
	if d.File != nil {
		f.File = &wire.DraftFileForm{Name: d.File.Name, Before: d.File.Before, After: d.File.After}
	}
	if d.Preview != nil {
		f.Preview = newPreviewForm(d.Preview)
	}
	return f
}

func newEffectForm(r *rulediff.Rule) *wire.EffectForm {
	if r == nil {
		return nil
	}
	e := r.Effect
	f := &wire.EffectForm{From: r.From, Running: newSideForm(r.Old), Draft: newSideForm(r.New), Compared: e != nil}
	if e == nil {
		e = &rulediff.Effect{}
	}
	for _, one := range []struct {
		from rulediff.Keys
		to   *wire.KeysForm
	}{
		{e.Fire, &f.Fire},
		{e.Pend, &f.Pend},
		{e.Resolve, &f.Resolve},
		{e.Keep, &f.Keep},
		{e.Drop, &f.Drop},
		{e.Unchanged, &f.Unchanged},
		{e.Again, &f.Again},
	} {
		*one.to = wire.KeysForm{Count: one.from.Count, Keys: wire.NotNil(one.from.Keys)}
	}
	return f
}

func newSideForm(s *rulediff.Side) *wire.SideForm {
	if s == nil {
		return nil
	}
	f := wire.SideForm(*s)
	return &f
}

type sourceOutput struct{ Body *wire.RuleSource }

func (h *Handlers) registerRuleSource(operations huma.API) {
	op := api.Operation("get-rule-source", http.MethodGet, "/rules/{id}/source", "rules", "Show the text of a rule")
	op.Description = "The text is the text of the running version, from the files of the answering node. A token that is not for all warehouses sees a rule only if the token " +
		"allows all scopes of the rule."
	huma.Register(operations, op, h.ruleSource)
}

// ruleSource answers GET /rules/{id}/source.
func (h *Handlers) ruleSource(ctx context.Context, in *ruleInput) (*sourceOutput, error) {
	source, err := h.deps.RuleSource(ctx, in.ID)
	if err != nil {
		return nil, h.rulesFailed(ctx, err)
	}
	who := auth.From(ctx)
	if !slices.ContainsFunc(source.Scopes, func(scope string) bool { return api.Concerns(who, scope) }) {
		return nil, h.rulesFailed(ctx, &engine.UnknownError{What: "rule", Name: in.ID})
	}
	for _, scope := range source.Scopes { // The text of the rule shows all scopes and their parameters.
		if prob := api.InWarehouse(who, scope); prob != nil {
			return nil, prob
		}
	}
	if !who.Everywhere() { // The text on the disk may have other scopes, which the caller may not see.
		source.Disk = nil
	}
	return &sourceOutput{source}, nil
}
