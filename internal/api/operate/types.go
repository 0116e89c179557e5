package operate

import (
	"context"
	"errors"
	"log/slog"
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
	"tallyman/rules/catalog"
)

type (
	typeCode struct {
		Code string `path:"code" doc:"code of the type" example:"REP_NOTICE"`
	}
	typeInput  struct{ Body wire.TypeForm }
	typeChange struct {
		Code string `path:"code" doc:"code of the type" example:"REP_NOTICE"`
		Body wire.TypeForm
	}
	typeOutput  struct{ Body wire.TypeForm }
	typesOutput struct{ Body wire.TypesForm }
)

// listTypes answers GET /types.
func (h *Handlers) listTypes(ctx context.Context, _ *struct{}) (*typesOutput, error) {
	types, err := h.deps.Catalogue.Types(ctx)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	out := &typesOutput{Body: wire.TypesForm{Types: []wire.TypeForm{}}}
	for _, code := range slices.Sorted(maps.Keys(types)) {
		t := types[code]
		out.Body.Types = append(out.Body.Types, view.NewTypeForm(&t))
	}
	return out, nil
}

// getType answers GET /types/{code}.
func (h *Handlers) getType(ctx context.Context, in *typeCode) (*typeOutput, error) {
	types, err := h.deps.Catalogue.Types(ctx)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	t, ok := types[types.Code(in.Code)]
	if !ok {
		return nil, unknownType(http.StatusNotFound, in.Code)
	}
	return &typeOutput{Body: view.NewTypeForm(&t)}, nil
}

// createType answers POST /types. If two requests create the same code at the same moment, both succeed, and the later
// type is in force.
func (h *Handlers) createType(ctx context.Context, in *typeInput) (*typeOutput, error) {
	t, prob := h.parseType(&in.Body)
	if prob != nil {
		return nil, prob
	}
	types, err := h.deps.Catalogue.Types(ctx)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	if _, ok := types[t.Code]; ok {
		return nil, wire.NewProblem(http.StatusConflict, wire.CodeTypeExists, "type "+t.Code+" exists already; PUT replaces it")
	}
	return h.putType(ctx, t)
}

// replaceType answers PUT /types/{code}.
func (h *Handlers) replaceType(ctx context.Context, in *typeChange) (*typeOutput, error) {
	t, prob := h.parseType(&in.Body)
	if prob != nil {
		return nil, prob
	}
	if t.Code != in.Code {
		return nil, api.InvalidBody([]wire.Fault{{Location: "body.code", Message: "the path says " + policy.Quote(in.Code) + "; a code cannot be changed"}})
	}
	return h.putType(ctx, t)
}

func (h *Handlers) putType(ctx context.Context, t catalog.Type) (*typeOutput, error) {
	err := h.deps.Catalogue.PutType(ctx, auth.From(ctx).Author(), t)
	switch {
	case errors.Is(err, ledger.ErrExists):
		return nil, wire.NewProblem(http.StatusConflict, wire.CodeTypeIDTaken, "another type has this numeric id")
	case err != nil:
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	h.log.LogAttrs(ctx, slog.LevelInfo, "Type was added or replaced in the catalogue.", slog.String("type", t.Code), slog.Int64("id", t.ID))
	return &typeOutput{Body: view.NewTypeForm(&t)}, nil
}

// deleteType answers DELETE /types/{code}.
func (h *Handlers) deleteType(ctx context.Context, in *typeCode) (*struct{}, error) {
	if catalog.Reserved(in.Code) {
		return nil, wire.NewProblem(http.StatusConflict, wire.CodeTypeReserved, "type "+in.Code+" is built in and cannot be removed")
	}
	err := h.deps.Catalogue.DeleteType(ctx, auth.From(ctx).Author(), in.Code)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return nil, unknownType(http.StatusNotFound, in.Code)
	case err != nil:
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	h.log.LogAttrs(ctx, slog.LevelInfo, "Type was removed from the catalogue.", slog.String("type", in.Code))
	return nil, nil //nolint:nilnil // the OpenAPI library answers 204
}

func unknownType(status int, code string) *wire.Problem {
	return wire.NewProblem(status, wire.CodeUnknownType, "the catalogue has no type "+policy.Quote(code))
}

func (h *Handlers) registerTypes(operations huma.API) {
	huma.Register(operations, api.Operation("list-types", http.MethodGet, "/types", "types", "List the catalogue"), h.listTypes)
	huma.Register(operations, api.Operation("get-type", http.MethodGet, "/types/{code}", "types", "Show a type"), h.getType)
	create := api.Operation("create-type", http.MethodPost, "/types", "types", "Add a type")
	create.DefaultStatus = http.StatusCreated
	huma.Register(operations, create, h.createType)
	huma.Register(operations, api.Operation("put-type", http.MethodPut, "/types/{code}", "types", "Add or replace a type"), h.replaceType)
	huma.Register(operations, api.Operation("delete-type", http.MethodDelete, "/types/{code}", "types",
		"Remove a type and its subscriptions"), h.deleteType)
}

// parseType parses the type in a body.
func (h *Handlers) parseType(f *wire.TypeForm) (catalog.Type, *wire.Problem) {
	t, faults := view.ParseType("body.", f, h.deps.Sinks)
	if len(faults) > 0 {
		return t, api.InvalidBody(faults)
	}
	return t, nil
}
