package auth

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/ledger"
)

// made is a token as it was created.
func made(t *testing.T, s Spec) (ledger.Token, string) {
	t.Helper()
	token, secret, faults := NewToken(s, "user:root", time.Now())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return token, secret
}

func admin(name string) Spec { return Spec{Name: name, Subject: "user:ann", Access: []Role{Admin}} }

func request(token string) *http.Request {
	return &http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}}
}

func wantError(t *testing.T, b *Bearer, secret string, want error) {
	t.Helper()
	if who, err := b.Authenticate(request(secret)); !errors.Is(err, want) || (err == nil) != (want == nil) {
		t.Fatalf("%+v, %v; want %v", who, err, want)
	}
}

func TestTheLifeOfAToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tokens := NewTokens()
		defer tokens.Close()
		b := &Bearer{Tokens: tokens}
		spec := Spec{
			Name: "kiosk", Subject: "user:bob", Access: []Role{Client}, Subscribers: []string{"role:keeper"}, Warehouses: []string{"W2", "W1"},
			Expires: time.Now().Add(time.Hour),
		}
		token, secret := made(t, spec)
		wantError(t, b, secret, ErrBadToken) // nobody has it yet
		tokens.Set([]ledger.Token{token}, tokens.Mark())
		who, err := b.Authenticate(request(secret))
		if err != nil || who.Over() {
			t.Fatal(who, err)
		}
		want := Identity{
			Subject: "user:bob", Access: []Role{Client}, Subscribers: []string{"role:keeper", "user:bob"}, Warehouses: []string{"W1", "W2"},
			Token: token.ID, Via: ledger.ViaToken(token.ID), Expires: token.Expires,
		}
		ended := who.Ended
		who.Ended = nil
		if diff := cmp.Diff(want, who); diff != "" {
			t.Error(diff)
		}
		tokens.Set([]ledger.Token{token}, tokens.Mark()) // read again: it goes on
		time.Sleep(time.Hour - time.Second)              //nolint:forbidigo // inside a bubble
		synctest.Wait()
		wantError(t, b, secret, nil)
		time.Sleep(time.Second) //nolint:forbidigo // inside a bubble
		synctest.Wait()
		wantError(t, b, secret, ErrExpired)
		who.Ended = ended
		if !who.Over() || !errors.Is(who.Why(), ErrExpired) {
			t.Error("what is open under it goes on")
		}
	})
}

func TestRevokedTokensEndAtOnce(t *testing.T) {
	t.Parallel()
	for name, revoke := range map[string]func(*Tokens, ledger.Token){
		"here": func(ts *Tokens, token ledger.Token) { ts.Revoke(token.ID) },
		"elsewhere": func(ts *Tokens, token ledger.Token) {
			token.Revoked = time.Now()
			ts.Set([]ledger.Token{token}, ts.Mark())
		},
	} {
		tokens := NewTokens()
		b := &Bearer{Tokens: tokens}
		token, secret := made(t, admin(name))
		other, otherSecret := made(t, admin("other"))
		tokens.Add(token)
		tokens.Add(other)
		who, err := b.Authenticate(request(secret))
		if err != nil {
			t.Fatal(err)
		}
		revoke(tokens, token)
		if !who.Over() || !errors.Is(who.Why(), ErrRevoked) {
			t.Errorf("%s: what is open under it goes on", name)
		}
		wantError(t, b, secret, ErrRevoked)
		tokens.Set([]ledger.Token{token, other}, tokens.Mark()) // read before it was revoked, and put here after
		wantError(t, b, secret, ErrRevoked)
		wantError(t, b, otherSecret, nil)
	}
}

func TestForgottenTokensEnd(t *testing.T) {
	t.Parallel()
	tokens := NewTokens()
	b := &Bearer{Tokens: tokens}
	token, secret := made(t, admin("a"))
	tokens.Set([]ledger.Token{token}, tokens.Mark())
	who, err := b.Authenticate(request(secret))
	if err != nil {
		t.Fatal(err)
	}
	tokens.Set(nil, tokens.Mark())
	wantError(t, b, secret, ErrBadToken)
	if !who.Over() {
		t.Error("what is open under it goes on")
	}
}

// TestAListThatIsLate has changes come between the reading of a list and its being taken over.
func TestAListThatIsLate(t *testing.T) {
	t.Parallel()
	tokens := NewTokens()
	b := &Bearer{Tokens: tokens}
	old, oldSecret := made(t, admin("old"))
	fresh, secret := made(t, admin("fresh"))
	theirs, theirSecret := made(t, admin("of another node"))
	tokens.Add(old)

	before := tokens.Mark()
	tokens.Add(fresh)
	who, err := b.Authenticate(request(secret))
	if err != nil {
		t.Fatal(err)
	}
	tokens.Revoke(theirs.ID)                        // of which nothing was known here
	tokens.Set([]ledger.Token{old, theirs}, before) // without the one, and with the other in force
	wantError(t, b, oldSecret, nil)
	wantError(t, b, secret, nil)
	wantError(t, b, theirSecret, ErrRevoked)
	if who.Over() {
		t.Error("what is open under the token was ended")
	}

	tokens.Set([]ledger.Token{old}, tokens.Mark()) // both are forgotten
	wantError(t, b, secret, ErrBadToken)
	wantError(t, b, theirSecret, ErrBadToken)
	if !who.Over() {
		t.Error("what is open under the token goes on")
	}
}

// TestAnIDIsNoSecret has somebody with a secret whose id is that of another: the whole hash decides.
func TestAnIDIsNoSecret(t *testing.T) {
	t.Parallel()
	tokens := NewTokens()
	token, _ := made(t, admin("a"))
	secret := NewSecret()
	token.ID = tokenID(HashSecret(secret))
	tokens.Add(token)
	wantError(t, &Bearer{Tokens: tokens}, secret, ErrBadToken)
}

func TestUses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tokens := NewTokens()
		token, secret := made(t, admin("a"))
		tokens.Add(token)
		if got := tokens.Used(); len(got) > 0 {
			t.Error(got)
		}
		for range 3 {
			wantError(t, &Bearer{Tokens: tokens}, secret, nil)
		}
		used := time.Now().UTC().Truncate(time.Microsecond)
		time.Sleep(time.Minute) //nolint:forbidigo // inside a bubble
		if diff := cmp.Diff(map[string]time.Time{token.ID: used}, tokens.Used()); diff != "" {
			t.Error(diff)
		}
		if got := tokens.Used(); len(got) > 0 {
			t.Error(got)
		}
	})
}

// TestManyAtOnce has requests, changes and revocations meet.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	tokens := NewTokens()
	b := &Bearer{Tokens: tokens}
	const n = 50
	var list []ledger.Token
	secrets := make([]string, n)
	for i := range n {
		var token ledger.Token
		token, secrets[i] = made(t, admin("x"))
		list = append(list, token)
	}
	tokens.Set(list, tokens.Mark())
	var wg sync.WaitGroup
	known := make(chan string, n)
	for i := range n {
		wg.Go(func() {
			who, err := b.Authenticate(request(secrets[i]))
			known <- list[i].ID
			if err != nil {
				t.Error(err)
				return
			}
			<-who.Ended
			if _, err := b.Authenticate(request(secrets[i])); !errors.Is(err, ErrRevoked) {
				t.Error(err)
			}
		})
		wg.Go(func() { tokens.Used() })
	}
	for range n {
		id := <-known
		wg.Go(func() { tokens.Revoke(id) })
		wg.Go(func() { tokens.Set(slices.Clone(list), tokens.Mark()) })
	}
	wg.Wait()
}
