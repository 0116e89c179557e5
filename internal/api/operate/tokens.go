package operate

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

type (
	tokenAskInput  struct{ Body wire.TokenAskForm }
	newTokenOutput struct{ Body wire.NewTokenForm }
	tokensOutput   struct{ Body wire.TokensForm }
	tokenOutput    struct{ Body wire.TokenForm }
	tokenListInput struct {
		Ended api.Flag `query:"ended" doc:"also list tokens that were revoked or have expired"`
	}
	tokenInput struct {
		ID    string   `path:"id" doc:"id of the token" example:"t_5rmwxhkqj2ab"`
		Force api.Flag `query:"force" doc:"revoke also the caller's own token, and the last token of an admin"`
	}
)

func (h *Handlers) registerTokens(operations huma.API) {
	create := api.Operation("create-token", http.MethodPost, "/tokens", "tokens", "Create an API token")
	create.Description = "The answer has the secret of the token. Tallyman does not store the secret. Every node accepts the token within a second."
	create.DefaultStatus = http.StatusCreated
	huma.Register(operations, create, h.createToken)
	huma.Register(operations, api.Operation("list-tokens", http.MethodGet, "/tokens", "tokens", "List the API tokens, without their secrets"), h.listTokens)
	revoke := api.Operation("revoke-token", http.MethodPost, "/tokens/{id}/revoke", "tokens", "Revoke an API token")
	revoke.Description = "Every node refuses the token within a second, and ends its open requests and streams. Revoking a token twice changes nothing. " +
		"Without force the answer is 409 token_is_callers for the token of the request, and 409 token_last_admin for the last token of an admin for its warehouses."
	huma.Register(operations, revoke, h.revokeToken)
}

// createToken answers POST /tokens.
func (h *Handlers) createToken(ctx context.Context, in *tokenAskInput) (*newTokenOutput, error) {
	who, now := auth.From(ctx), time.Now()
	token, secret, faults := auth.NewTokenOf(&in.Body, who.Subject, now)
	if len(faults) > 0 {
		return nil, api.InvalidBody(faults)
	}
	for _, w := range token.Warehouses { // A caller cannot give a token more warehouses than the caller has.
		if prob := api.InWarehouse(who, w); prob != nil {
			return nil, prob
		}
	}
	if err := h.deps.Tokens.AddToken(ctx, who.Author(), token); err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	h.log.LogAttrs(ctx, slog.LevelInfo, "Token was created.", slog.String("token", token.ID), slog.String("subject", token.Subject),
		slog.Any("access", token.Access), slog.String("by", who.Subject))
	return &newTokenOutput{Body: wire.NewTokenForm{TokenForm: auth.TokenForm(&token, now), Secret: secret}}, nil
}

// listTokens answers GET /tokens.
func (h *Handlers) listTokens(ctx context.Context, in *tokenListInput) (*tokensOutput, error) {
	ended, prob := in.Ended.Parse("ended")
	if prob != nil {
		return nil, prob
	}
	list, prob := h.ownTokens(ctx)
	if prob != nil {
		return nil, prob
	}
	return &tokensOutput{Body: wire.TokensForm{Tokens: auth.TokenForms(list, ended, time.Now())}}, nil
}

// ownTokens returns the tokens that the caller may see and revoke. The caller must have all warehouses of such a token.
func (h *Handlers) ownTokens(ctx context.Context) ([]ledger.Token, *wire.Problem) {
	list, err := h.deps.Tokens.ListTokens(ctx)
	if err != nil {
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	who := auth.From(ctx)
	foreign := func(w string) bool { return !who.InWarehouse(w) }
	return slices.DeleteFunc(list, func(t ledger.Token) bool { return slices.ContainsFunc(t.Warehouses, foreign) }), nil
}

// ownToken returns the token with the id, if the caller may see and revoke the token.
func (h *Handlers) ownToken(ctx context.Context, id string) (*ledger.Token, *wire.Problem) {
	list, prob := h.ownTokens(ctx)
	if prob != nil {
		return nil, prob
	}
	i := slices.IndexFunc(list, func(t ledger.Token) bool { return t.ID == id })
	if i < 0 {
		return nil, wire.NewProblem(http.StatusNotFound, wire.CodeTokenNotFound, "there is no token "+policy.Quote(id))
	}
	return &list[i], nil
}

// revokeToken answers POST /tokens/{id}/revoke.
func (h *Handlers) revokeToken(ctx context.Context, in *tokenInput) (*tokenOutput, error) {
	force, prob := in.Force.Parse("force")
	if prob != nil {
		return nil, prob
	}
	if _, prob := h.ownToken(ctx, in.ID); prob != nil {
		return nil, prob
	}
	who := auth.From(ctx)
	if !force {
		list, err := h.deps.Tokens.ListTokens(ctx) // Also tokens of other warehouses, because their admins count.
		if err != nil {
			return nil, api.LedgerFailed(ctx, h.log, err)
		}
		if prob := auth.RefuseRevoke(list, in.ID, who.Token, time.Now()); prob != nil {
			return nil, prob
		}
	}
	err := h.deps.Tokens.RevokeToken(ctx, who.Author(), in.ID, time.Now())
	switch {
	case err == nil:
		h.log.LogAttrs(ctx, slog.LevelInfo, "Token was revoked.", slog.String("token", in.ID), slog.String("by", who.Subject))
	case !errors.Is(err, ledger.ErrNotFound):
		return nil, api.LedgerFailed(ctx, h.log, err)
	}
	token, prob := h.ownToken(ctx, in.ID)
	if prob != nil { // The ledger has removed the token in the meantime.
		return nil, prob
	}
	return &tokenOutput{Body: auth.TokenForm(token, time.Now())}, nil
}

type meOutput struct{ Body wire.MeForm }

func (h *Handlers) registerMe(operations huma.API) {
	get := api.Operation("me", http.MethodGet, "/me", "operations", "Show the caller and the caller's rights")
	get.Description = "For pages that show what their user may do. A role can allow an operation that is still refused for another warehouse or another inbox."
	huma.Register(operations, get, h.me)
}

// me answers GET /me.
func (h *Handlers) me(ctx context.Context, _ *struct{}) (*meOutput, error) {
	who := auth.From(ctx)
	form := wire.MeForm{
		Subject: who.Subject, Roles: api.RoleNames(who.Access), Warehouses: wire.NotNil(who.Warehouses), Subscribers: who.Subscribers, Mode: "token",
		Token: who.Token, Expires: wire.Moment(who.Expires), May: []string{}, Clock: h.deps.Clock.now(),
	}
	if who.Subject == auth.Anonymous {
		form.Mode = "none"
	}
	for _, id := range slices.Sorted(maps.Keys(api.Access)) {
		if api.MayDo(who, id) == nil {
			form.May = append(form.May, id)
		}
	}
	if user := who.User(); user != "" {
		found, err := h.deps.Book.Subscribers(ctx, []string{user})
		if err != nil { // The answer only lacks the name.
			h.log.LogAttrs(ctx, slog.LevelWarn, "Address book could not be read. The answer has no name of the caller.", slog.Any("error", err))
		}
		form.Name = found[user].Name
	}
	return &meOutput{form}, nil
}
