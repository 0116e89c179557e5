package operate

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/api"
	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

type meOutput struct{ Body wire.MeForm }

func (h *Handlers) registerMe(operations huma.API) {
	get := api.Operation("me", http.MethodGet, "/me", "operations", "Who the caller is, and what he may do")
	get.Description = "For pages that show what their user may do. What a role allows may still be about another's warehouse or inbox, and is refused then."
	huma.Register(operations, get, h.me)
}

// me answers GET /me.
func (h *Handlers) me(ctx context.Context, _ *struct{}) (*meOutput, error) {
	who := auth.From(ctx)
	form := wire.MeForm{
		Subject: who.Subject, Roles: api.RoleNames(who.Access), Warehouses: wire.NotNil(who.Warehouses), Subscribers: who.Subscribers, Mode: "token",
		Token: who.Token, Expires: wire.Moment(who.Expires), May: []string{},
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
		if err != nil { // the rest is known all the same
			h.log.LogAttrs(ctx, slog.LevelWarn, "the address book cannot be read", slog.Any("error", err))
		}
		form.Name = found[user].Name
	}
	return &meOutput{form}, nil
}
