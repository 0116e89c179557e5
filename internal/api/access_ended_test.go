package api_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/auth"
)

// holder has tokens of its own, which a test revokes.
type holder struct{ tokens *auth.Tokens }

func newHolder() *holder { return &holder{auth.NewTokens()} }

func (h *holder) in(d *parts) { d.Auth = &auth.Bearer{Tokens: h.tokens} }

// token makes one that may do everything, and the header with it.
func (h *holder) token(t *testing.T, expires time.Time) (id, header string) {
	t.Helper()
	token, secret, faults := auth.NewToken(auth.Spec{Subject: "user:ann", Access: auth.Roles(), Warehouses: []string{"*"}, Expires: expires}, "", time.Now())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	h.tokens.Add(token)
	return token.ID, "Bearer " + secret
}

func isRefused(t *testing.T, got answer, code string) {
	t.Helper()
	if got.status != http.StatusUnauthorized || !strings.Contains(got.body, `"code":"`+code+`"`) || !strings.Contains(got.header.Get("WWW-Authenticate"), "invalid_token") {
		t.Errorf("%d %v %s; want %s", got.status, got.header, got.body, code)
	}
}

func TestRevocationEndsWhatWaits(t *testing.T) {
	t.Parallel()
	h := newHolder()
	b := setup(t, h.in)
	id, header := h.token(t, time.Time{})
	_, other := h.token(t, time.Time{})
	poll, mine := b.later(t, pollPath+"&wait=60s", "Authorization", header), b.later(t, pollPath+"&wait=60s", "Authorization", other)
	b.inbox.awaitWaiters(2)
	lease := make(chan answer, 1)
	go func() {
		lease <- b.do(t, http.MethodPost, queuePath+"/lease", `{"worker":"w","wait":"60s"}`, "Authorization", header)
	}()
	<-b.queue[0].waiting
	h.tokens.Revoke(id)
	isRefused(t, <-poll, "token_revoked")
	isRefused(t, <-lease, "token_revoked")
	isRefused(t, b.get(t, pollPath, "Authorization", header), "token_revoked")
	b.inbox.put(onePage()) // others wait on
	if got := <-mine; got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestExpiryEndsWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHolder()
		b := newBundle(h.in)
		_, header := h.token(t, time.Now().Add(20*time.Second))
		began := time.Now()
		isRefused(t, b.handle(t, pollPath+"&wait=60s", "Authorization", header), "token_expired")
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// TestRevocationAmongPolls has polls begin, be answered and be revoked at once: each is answered whole or refused, and after the revocation has
// returned none begins.
func TestRevocationAmongPolls(t *testing.T) {
	t.Parallel()
	h := newHolder()
	b := setup(t, h.in)
	for range 10 {
		id, header := h.token(t, time.Time{})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				got := b.get(t, pollPath+"&wait=60s", "Authorization", header)
				if got.status != http.StatusOK && !strings.Contains(got.body, "token_revoked") {
					t.Errorf("%d %s", got.status, got.body)
				}
			})
		}
		wg.Go(func() { b.inbox.put(onePage()) })
		wg.Go(func() { h.tokens.Revoke(id) })
		wg.Wait()
		isRefused(t, b.get(t, pollPath, "Authorization", header), "token_revoked")
	}
}

func TestHealthNeedsNoToken(t *testing.T) {
	t.Parallel()
	b := newBundle(newHolder().in)
	for path, status := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 401, "/openapi.json": 401, "/api/v1/nothing": 401} {
		if got := b.handle(t, path); got.status != status {
			t.Errorf("%s answers %d %s", path, got.status, got.body)
		}
	}
}
