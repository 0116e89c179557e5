package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"tallyman/internal/auth"
	"tallyman/internal/ledger"
)

// slowTokens is a ledger whose answers a test delays.
type slowTokens struct {
	mu   sync.Mutex
	list []ledger.Token
	read chan struct{} // hears that a list was read
	give chan struct{} // lets it go out; nil = at once
	hang chan struct{} // hears of a token that is never taken; nil = all are
}

func (s *slowTokens) ListTokens(context.Context) ([]ledger.Token, error) {
	s.mu.Lock()
	list := append([]ledger.Token{}, s.list...)
	s.mu.Unlock()
	if s.give != nil {
		s.read <- struct{}{}
		<-s.give
	}
	return list, nil
}

func (s *slowTokens) AddToken(ctx context.Context, _ ledger.Author, t ledger.Token) error {
	if s.hang != nil {
		s.hang <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, t)
	return nil
}

// No test calls the methods below.

var errNotAsked = errors.New("slowTokens only adds and lists")

func (s *slowTokens) RevokeToken(context.Context, ledger.Author, string, time.Time) error {
	return errNotAsked
}

func (s *slowTokens) UseTokens(context.Context, map[string]time.Time) error { return errNotAsked }

func (s *slowTokens) ForgetTokens(context.Context, time.Time) (int64, error) { return 0, errNotAsked }

const tokenWait = 10 * time.Second

func inTime(t *testing.T, what string, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	case <-time.After(tokenWait):
		t.Fatalf("%s is held up", what)
	}
}

func newTestToken(t *testing.T) (ledger.Token, *http.Request) {
	t.Helper()
	token, secret, faults := auth.NewToken(auth.Spec{Subject: "user:ann", Access: []auth.Role{auth.Admin}}, "", time.Now())
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return token, &http.Request{Header: http.Header{"Authorization": {"Bearer " + secret}}}
}

// A token is added while a list of tokens is read. The older list does not end the new token.
func TestATokenThatAListDoesNotHaveYet(t *testing.T) {
	t.Parallel()
	l := &slowTokens{read: make(chan struct{}), give: make(chan struct{})}
	all := &tokens{Tokens: l, memory: auth.NewTokens(), log: slog.New(slog.DiscardHandler)}
	token, request := newTestToken(t)
	reading, adding := make(chan error, 1), make(chan error, 1)
	go func() { reading <- all.read(t.Context()) }()
	<-l.read
	go func() {
		adding <- all.AddToken(t.Context(), ledger.Author{By: "user:ann", Via: ledger.ViaLocal}, token)
	}()
	inTime(t, "a token, by a list,", adding)
	close(l.give)
	inTime(t, "the list", reading)
	if _, err := (&auth.Bearer{Tokens: all.memory}).Authenticate(request); err != nil {
		t.Error(err)
	}
}

// While the ledger does not answer a change, the node still reads the changes of other nodes.
func TestAChangeOfTokensThatHangs(t *testing.T) {
	t.Parallel()
	l := &slowTokens{hang: make(chan struct{})}
	all := &tokens{Tokens: l, memory: auth.NewTokens(), log: slog.New(slog.DiscardHandler)}
	token, _ := newTestToken(t)
	theirs, request := newTestToken(t)
	l.list = []ledger.Token{theirs}
	ctx, cancel := context.WithCancel(t.Context())
	adding, reading := make(chan error, 1), make(chan error, 1)
	go func() { adding <- all.AddToken(ctx, ledger.Author{By: "user:ann", Via: ledger.ViaLocal}, token) }()
	<-l.hang
	go func() { reading <- all.read(ctx) }()
	defer func() {
		cancel()
		<-adding //nolint:errcheck // it was given up
	}()
	inTime(t, "the list", reading)
	if _, err := (&auth.Bearer{Tokens: all.memory}).Authenticate(request); err != nil {
		t.Error(err)
	}
}
