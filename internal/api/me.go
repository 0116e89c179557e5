package api

import (
	"context"
	"encoding/xml"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tallyman/internal/auth"
)

// MeForm is who the caller is, and what he may do.
type MeForm struct {
	XMLName     xml.Name   `json:"-" xml:"me"`
	Subject     string     `json:"subject" xml:"subject" example:"user:ann" doc:"anonymous with auth.mode none"`
	Name        string     `json:"name,omitempty" xml:"name,omitempty" doc:"of the user, as the address book has it"`
	Roles       []string   `json:"roles" xml:"roles>role" doc:"that say what the caller may do" nullable:"false"`
	Warehouses  []string   `json:"warehouses" xml:"warehouses>warehouse" doc:"where; * = everywhere" nullable:"false"`
	Subscribers []string   `json:"subscribers,omitempty" xml:"subscribers>subscriber,omitempty" doc:"whose inboxes are the caller's own" nullable:"false"`
	Mode        string     `json:"mode" xml:"mode" enum:"token,none" doc:"auth.mode: none asks for no token"`
	Token       string     `json:"token,omitempty" xml:"token,omitempty" doc:"the id of the API token; a JWT has none" example:"t_5rmwxhkqj2ab"`
	Expires     *time.Time `json:"expires,omitempty" xml:"expires,omitempty" doc:"when the token ends by itself"`
	May         []string   `json:"may" xml:"may>operation" doc:"ids of the operations that the roles allow, sorted" nullable:"false"`
}

type meOutput struct{ Body MeForm }

func (a *API) registerMe(operations huma.API) {
	get := operation("me", http.MethodGet, "/me", "operations", "Who the caller is, and what he may do")
	get.Description = "For pages that show what their user may do. What a role allows may still be about another's warehouse or inbox, and is refused then."
	huma.Register(operations, get, a.me)
}

// me answers GET /me.
func (a *API) me(ctx context.Context, _ *struct{}) (*meOutput, error) {
	who := auth.From(ctx)
	form := MeForm{
		Subject: who.Subject, Roles: roleNames(who.Access), Warehouses: notNil(who.Warehouses), Subscribers: who.Subscribers, Mode: "token",
		Token: who.Token, Expires: moment(who.Expires), May: []string{},
	}
	if who.Subject == auth.Anonymous {
		form.Mode = "none"
	}
	for _, id := range slices.Sorted(maps.Keys(access)) {
		if mayDo(who, id) == nil {
			form.May = append(form.May, id)
		}
	}
	if user := who.User(); user != "" {
		found, err := a.deps.Book.Subscribers(ctx, []string{user})
		if err != nil { // the rest is known all the same
			a.log.LogAttrs(ctx, slog.LevelWarn, "the address book cannot be read", slog.Any("error", err))
		}
		form.Name = found[user].Name
	}
	return &meOutput{form}, nil
}
