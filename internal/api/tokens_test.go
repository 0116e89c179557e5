package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/wire"
)

const tokensPath = "/api/v1/tokens"

func TestTokensOverTheAPI(t *testing.T) {
	t.Parallel()
	b := newBundle()
	var made wire.NewTokenForm
	got := b.handleBody(t, http.MethodPost, tokensPath, `{"subject":"user:ann","access":["client"],"subscribers":["role:keeper"],"warehouses":["W1"],"expires":"90d"}`)
	if err := json.Unmarshal([]byte(got.body), &made); err != nil || got.status != http.StatusCreated || got.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s, %v", got.status, got.body, err)
	}
	if !strings.HasPrefix(made.Secret, "tly_") || !strings.HasPrefix(made.ID, "t_") || made.State != "live" || made.CreatedBy != "anonymous" || made.Name != "user:ann" {
		t.Errorf("%+v", made)
	}
	if left := time.Until(*made.Expires); left < 89*24*time.Hour || left > 90*24*time.Hour {
		t.Errorf("it expires in %s", left)
	}
	other := b.handleBody(t, http.MethodPost, tokensPath, `{"subject":"service:wms","access":["service"],"warehouses":["*"]}`, "Accept", "application/xml")
	if other.status != http.StatusCreated || !strings.Contains(other.body, "<secret>tly_") {
		t.Errorf("%d %s", other.status, other.body)
	}
	b.follow(t, []request{
		{"GET", tokensPath, "", 200, `"subscribers":["role:keeper","user:ann"]`},
		{"POST", tokensPath + "/t_none/revoke", "", 404, "token_not_found"},
		{"POST", tokensPath + "/" + made.ID + "/revoke", "", 200, `"state":"revoked"`},
		{"POST", tokensPath + "/" + made.ID + "/revoke", "", 200, `"revokedBy":"anonymous"`},
		{"GET", tokensPath + "?ended=true", "", 200, `"state":"revoked"`},
		{"GET", tokensPath + "?ended=perhaps", "", 400, "invalid_parameter"},
	})
	list := b.handle(t, tokensPath).body
	if strings.Contains(list, made.ID) || !strings.Contains(list, "service:wms") {
		t.Errorf("the list of live tokens is %s", list)
	}
	for _, text := range []string{list, b.handle(t, tokensPath+"?ended=true").body, b.log.String()} {
		if strings.Contains(text, "tly_") {
			t.Errorf("a secret is in %s", text)
		}
	}
}

func TestBadTokensAreNotMade(t *testing.T) {
	t.Parallel()
	b := newBundle()
	for body, at := range map[string]string{
		`{"subject":"ann","access":["admin"]}`:                                       "body.subject",
		`{"subject":"user:ann","access":["root"]}`:                                   "body.access",
		`{"subject":"user:ann","access":[]}`:                                         "body.access",
		`{"subject":"user:ann","access":["client"]}`:                                 "body.warehouses",
		`{"subject":"user:ann","access":["admin"],"expires":"soon"}`:                 "body.expires",
		`{"subject":"user:ann","access":["admin"],"expires":"2020-01-01T00:00:00Z"}`: "body.expires",
		`{"subject":"user:ann","access":["admin"],"expires":"-1h"}`:                  "body.expires",
		`{"subject":"user:ann","access":["admin"],"subscribers":["user:ann"]}`:       "body.subscribers",
		`{"subject":"user:ann","access":["admin"],"secret":"mine"}`:                  "body",
	} {
		p := b.handleBody(t, http.MethodPost, tokensPath, body).asProblem(t)
		if p.Code != "invalid_body" || !strings.HasPrefix(p.Errors[0].Location, at) {
			t.Errorf("%s: %+v", body, p)
		}
	}
}
