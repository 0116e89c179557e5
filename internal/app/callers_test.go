package app_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tallyman/internal/app"
	"tallyman/internal/auth"
	"tallyman/internal/config"
	"tallyman/internal/ledger"
	"tallyman/internal/settings"
	"tallyman/internal/testenv"
)

const hmacSecret = "0123456789abcdef0123456789abcdef"

// with sends a request with the bearer token and returns the status and the code of a problem.
func (n *node) with(token, method, path string) (int, string) {
	n.t.Helper()
	status, text := n.do(method, "/api/v1"+path, "application/json", "", "Authorization", "Bearer "+token)
	var p struct{ Code string }
	_ = json.Unmarshal([]byte(text), &p) // an answer that is no problem has none
	return status, p.Code
}

// A token that is added or revoked on one node is valid or invalid on the other within about a second. Waiting polls
// end with their token.
func TestTokensOnTwoNodes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.realServers()
	s.cfg.Auth = config.Auth{Mode: config.AuthToken, JWT: &config.JWT{
		Secret: config.NewSecret(hmacSecret), Audience: "tallyman", Claims: config.Claims{Subject: "sub", Roles: "roles"},
		Access: []auth.Role{auth.Client}, Warehouses: []string{"119240"},
	}}
	one := s.start("one")
	token, admin, faults := auth.NewToken(auth.Spec{Subject: "user:ann", Access: []auth.Role{auth.Admin}}, "local:root", time.Now())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if err := s.openLedger().AddToken(t.Context(), ledger.Author{By: "local:root", Via: ledger.ViaLocal}, token); err != nil { // beside the node, as the command line does
		t.Fatal(err)
	}
	testenv.Eventually(t, func() bool {
		status, _ := one.with(admin, http.MethodGet, "/tokens")
		return status == http.StatusOK
	}, 20*time.Second)
	two := s.start("two")
	if status, code := two.with(admin, http.MethodGet, "/tokens"); status != http.StatusOK {
		t.Fatal(status, code)
	}

	_, text := one.do(http.MethodPost, "/api/v1/tokens", "application/json",
		`{"subject":"user:bob","access":["client"],"subscribers":["role:keeper"],"warehouses":["119240"]}`, "Authorization", "Bearer "+admin)
	var made struct{ ID, Secret string }
	if err := json.Unmarshal([]byte(text), &made); err != nil || made.Secret == "" {
		t.Fatal(text, err)
	}
	if status, code := one.with(made.Secret, http.MethodGet, "/notices"); status != http.StatusOK {
		t.Errorf("on the node that made it, at once: %d %s", status, code)
	}
	testenv.Eventually(t, func() bool {
		status, _ := two.with(made.Secret, http.MethodGet, "/notices")
		return status == http.StatusOK
	}, 20*time.Second)

	waits := make(chan string, 1)
	go func() {
		_, code := two.with(made.Secret, http.MethodGet, "/notices?wait=60s")
		waits <- code
	}()
	if status, code := one.with(admin, http.MethodPost, "/tokens/"+made.ID+"/revoke"); status != http.StatusOK {
		t.Fatal(status, code)
	}
	began := time.Now()
	if status, code := one.with(made.Secret, http.MethodGet, "/notices"); status != http.StatusUnauthorized || code != "token_revoked" {
		t.Errorf("on the node that revoked it, at once: %d %s", status, code)
	}
	if code := <-waits; code != "token_revoked" {
		t.Errorf("what waited ended with %q", code)
	}
	t.Logf("what waited on the other node ended after %s", time.Since(began))

	checkJWTs(t, two)
	two.stop() // it writes down what was used
	list, err := s.openLedger().ListTokens(t.Context())
	if err != nil || len(list) != 2 || list[0].RevokedBy != "user:ann" || list[1].Used.IsZero() {
		t.Errorf("%+v, %v", list, err)
	}
}

func checkJWTs(t *testing.T, n *node) {
	t.Helper()
	sign := func(c jwt.MapClaims) string {
		text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString([]byte(hmacSecret))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	good := sign(jwt.MapClaims{"sub": "bob", "roles": []string{"keeper"}, "aud": "tallyman", "exp": time.Now().Add(time.Hour).Unix()})
	for _, c := range []struct {
		token, path string
		status      int
		code        string
	}{
		{good, "/notices?subscriber=role:keeper", 200, ""},
		{good, "/notices?warehouse=W2", 403, "warehouse_denied"},
		{good, "/notices?subscriber=user:ann", 403, "subscriber_denied"},
		{good, "/status", 403, "role_missing"},
		{sign(jwt.MapClaims{"sub": "bob", "aud": "another", "exp": time.Now().Add(time.Hour).Unix()}), "/notices", 401, "token_invalid"},
		{sign(jwt.MapClaims{"sub": "bob", "aud": "tallyman", "exp": 1}), "/notices", 401, "token_expired"},
	} {
		if status, code := n.with(c.token, http.MethodGet, c.path); status != c.status || code != c.code {
			t.Errorf("%s answers %d %s, want %d %s", c.path, status, code, c.status, c.code)
		}
	}
}

func TestBadKeysStopTheStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text, want string }{
		"missing": {file: "none.pem", want: "none.pem"},
		"no key":  {file: "key.pem", text: "-----BEGIN NONSENSE-----\n-----END NONSENSE-----\n", want: "holds no RSA public key"},
	} {
		s := newSite(t)
		file := filepath.Join(s.dir, c.file)
		if c.text != "" {
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s.cfg.Auth = config.Auth{Mode: config.AuthToken, JWT: &config.JWT{PublicKey: settings.File(file), Audience: "a", Claims: config.Claims{Subject: "sub"}}}
		a, err := app.New(t.Context(), s.cfg, app.Options{})
		if err == nil {
			_ = a.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "auth.jwt: public_key") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
