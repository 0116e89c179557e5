package send

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
	"tallyman/rules/strictyaml"
)

type (
	previewInput struct {
		Code string `path:"code" doc:"code or id of the type" example:"REP_NOTICE"`
		Body wire.PreviewTypeForm
	}
	previewOutput struct{ Body wire.TypePreviewForm }
)

func (h *Handlers) registerPreview(operations huma.API) {
	op := api.Operation("preview-type", http.MethodPost, "/types/{code}/preview", "types", "Show the texts of a notice of a type")
	op.Description = "The answer has the notice that would be made if a business system sent this data. Nothing is sent. With a draft the notice is made from the draft, and " +
		"the catalogue does not change."
	huma.Register(operations, op, h.previewType)
}

// somewhere is the warehouse of a previewed notice, which is never sent.
const somewhere = "PREVIEW"

// previewType answers POST /types/{code}/preview with a notice that is made as sendNotices makes it.
func (h *Handlers) previewType(ctx context.Context, in *previewInput) (*previewOutput, error) {
	types, err := h.deps.Types(ctx)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	code := types.Code(in.Code)
	if in.Body.Type != nil {
		draft, faults := view.ParseType("body.type.", in.Body.Type, h.deps.Sinks)
		if len(faults) > 0 {
			return nil, api.InvalidBody(faults)
		}
		if draft.Code != code {
			return nil, api.InvalidBody([]wire.Fault{{Location: "body.type.code", Message: "the path says " + policy.Quote(in.Code)}})
		}
		types = maps.Clone(types)
		types[code] = draft
	}
	typ, ok := types[code]
	if !ok {
		return nil, wire.NewProblem(http.StatusNotFound, wire.CodeUnknownType, "the catalogue has no type "+policy.Quote(in.Code))
	}
	s := h.newMaker(auth.From(ctx))
	s.types = types
	made := s.notice("body.", &wire.SendNoticeForm{Type: code, Warehouse: somewhere, Data: in.Body.Data})
	if prob := s.problem(); prob != nil {
		return nil, prob
	}
	out := &previewOutput{Body: newTypePreview(&made)}
	out.Body.Deliver = view.NewTypeForm(&typ).Deliver
	if len(out.Body.Deliver) == 0 {
		out.Body.Deliver = []wire.TypeDeliverForm{{Sink: s.inbox()}}
	}
	return out, nil
}

func newTypePreview(made *ledger.NewNotice) wire.TypePreviewForm {
	n := made.Notice
	form := wire.TypePreviewForm{
		Type: n.Type, Texts: []wire.TranslationForm{{Title: n.Title, Body: n.Body}}, Priority: n.Priority, Modal: n.Modal,
		Expires: strictyaml.FormatDuration(n.ExpiresAt.Sub(n.CreatedAt)), Labels: n.Labels,
	}
	for _, lang := range slices.Sorted(maps.Keys(n.Texts)) {
		inLang := n.Localize(lang)
		form.Texts = append(form.Texts, wire.TranslationForm{Language: lang, Title: inLang.Title, Body: inLang.Body})
	}
	return form
}
