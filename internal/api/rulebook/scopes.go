package rulebook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

// Scopes reads and changes the lists of scopes that queries return for rules.
type Scopes interface {
	// Origins returns the lists in the ledger, and the rules that wait for their first list. Source returns the source
	// that the node asks for the scopes of a rule; "" = none.
	Origins(ctx context.Context) ([]ledger.ScopeOrigin, error)
	Source(rule string) string
	ConfirmScopes(ctx context.Context, who ledger.Author, rule, hash string) (ledger.ScopeChange, error)
	ForgetScopes(ctx context.Context, who ledger.Author, rule string) error
}

// mostRemoving is the maximum number of removed scopes that an answer names.
const mostRemoving = 100

func (h *Handlers) registerScopes(operations huma.API) {
	list := api.Operation("list-scope-origins", http.MethodGet, "/scopes", "rules", "List the rules whose scopes come from a query, and the state of their lists")
	list.Description = "Each row that the query of a rule file returns is a scope of the rule. When the query fails, the last list stays in force."
	huma.Register(operations, list, h.listScopes)
	confirm := api.Operation("confirm-scopes", http.MethodPost, "/scopes/{rule}/confirm", "rules", "Confirm a list of scopes that is empty or removes more than half")
	confirm.Description = "The list with this hash comes into force at once. If another list waits now, nothing changes."
	huma.Register(operations, confirm, h.confirmScopes)
	forget := api.Operation("forget-scopes", http.MethodDelete, "/scopes/{rule}", "rules", "Forget the list of scopes of a rule that no longer has a query")
	forget.Description = "The call is refused while the rule files of the node have a query for the rule."
	forget.DefaultStatus = http.StatusNoContent
	huma.Register(operations, forget, h.forgetScopes)
}

// listScopes answers GET /scopes, for callers who see all warehouses.
func (h *Handlers) listScopes(ctx context.Context, _ *struct{}) (*scopesOutput, error) {
	if prob := api.InScope(ctx, nil); prob != nil {
		return nil, prob
	}
	origins, err := h.deps.Scopes.Origins(ctx)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	out := &scopesOutput{Body: wire.ScopeOriginsForm{Origins: make([]wire.ScopeOriginForm, len(origins))}}
	for i := range origins {
		out.Body.Origins[i] = newScopeOriginForm(&origins[i], h.deps.Scopes.Source(origins[i].Name))
	}
	return out, nil
}

func newScopeOriginForm(o *ledger.ScopeOrigin, source string) wire.ScopeOriginForm {
	form := wire.ScopeOriginForm{
		Rule: o.Name, Source: source, Listed: o.Listed, Scopes: o.Scopes, Asked: wire.Moment(o.Asked), Answered: wire.Moment(o.Answered), FailedSince: wire.Moment(o.FailedSince), Error: o.Error,
	}
	if w := o.Waits; w != nil {
		form.Waits = &wire.WaitingScopesForm{
			Hash: w.Hash, Since: w.Since.UTC(), Scopes: w.Scopes, Added: len(w.Change.Added), Changed: len(w.Change.Changed), Removed: len(w.Change.Removed), Removing: []string{},
		}
		for _, s := range w.Change.Removed[:min(mostRemoving, len(w.Change.Removed))] {
			form.Waits.Removing = append(form.Waits.Removing, s.Name)
		}
	}
	return form
}

// confirmScopes answers POST /scopes/{rule}/confirm, for callers who see all warehouses.
func (h *Handlers) confirmScopes(ctx context.Context, in *confirmScopesInput) (*confirmScopesOutput, error) {
	if prob := api.InScope(ctx, nil); prob != nil {
		return nil, prob
	}
	who := auth.From(ctx)
	c, err := h.deps.Scopes.ConfirmScopes(ctx, who.Author(), in.Rule, in.Body.Hash)
	switch {
	case errors.Is(err, ledger.ErrOtherList):
		return nil, wire.NewProblem(http.StatusConflict, wire.CodeListChanged, "this list does not wait now: the source has given another list, or the list was confirmed already; check the list that waits now, if there is one")
	case err != nil:
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	h.log.LogAttrs(ctx, slog.LevelWarn, "List of scopes was confirmed.", slog.String("rule", in.Rule), slog.String("by", who.Subject),
		slog.Int("added", len(c.Added)), slog.Int("changed", len(c.Changed)), slog.Int("removed", len(c.Removed)))
	return &confirmScopesOutput{Body: wire.ConfirmedListForm{Added: len(c.Added), Changed: len(c.Changed), Removed: len(c.Removed)}}, nil
}

// forgetScopes answers DELETE /scopes/{rule}, for callers who see all warehouses.
func (h *Handlers) forgetScopes(ctx context.Context, in *scopesKey) (*struct{}, error) {
	if prob := api.InScope(ctx, nil); prob != nil {
		return nil, prob
	}
	if h.deps.Scopes.Source(in.Rule) != "" {
		return nil, wire.NewProblem(http.StatusConflict, wire.CodeOriginConfigured, "the rule files have a query for the rule, which would list the scopes again; first remove the query from the files of every node")
	}
	who := auth.From(ctx)
	err := h.deps.Scopes.ForgetScopes(ctx, who.Author(), in.Rule)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return nil, wire.NewProblem(http.StatusNotFound, wire.CodeOriginNotFound, "the ledger has no list of scopes of that rule")
	case err != nil:
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	h.log.LogAttrs(ctx, slog.LevelInfo, "List of scopes was forgotten.", slog.String("rule", in.Rule), slog.String("by", who.Subject))
	return nil, nil
}

// scopesKey names a rule whose scopes come from a query.
type scopesKey struct {
	Rule string `path:"rule" doc:"id of the rule" example:"negative-bin-stock"`
}

type (
	scopesOutput       struct{ Body wire.ScopeOriginsForm }
	confirmScopesInput struct {
		Rule string `path:"rule" doc:"id of the rule" example:"negative-bin-stock"`
		Body wire.ConfirmListForm
	}
	confirmScopesOutput struct{ Body wire.ConfirmedListForm }
)
