package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"tallyman/internal/auth"
	"tallyman/internal/wire"
)

// What WWW-Authenticate says (RFC 6750).
const (
	challenge    = `Bearer realm="tallyman"`
	insufficient = challenge + `, error="insufficient_scope"`
	invalid      = challenge + `, error="invalid_token"`
)

// Unauthorized is the problem of a request whose caller is not known; nil where the error is none of those. Codes and texts tell who has no good
// token nothing: that one has expired, or was revoked, only he learns who has it.
func Unauthorized(err error) *wire.Problem {
	for _, c := range []struct {
		is        error
		code      wire.Code
		challenge string
	}{
		{auth.ErrNoToken, wire.CodeTokenMissing, challenge},
		{auth.ErrBadToken, wire.CodeTokenInvalid, invalid},
		{auth.ErrExpired, wire.CodeTokenExpired, invalid},
		{auth.ErrRevoked, wire.CodeTokenRevoked, invalid},
	} {
		if errors.Is(err, c.is) {
			p := wire.NewProblem(http.StatusUnauthorized, c.code, err.Error())
			p.Challenge = c.challenge
			return p
		}
	}
	if errors.Is(err, auth.ErrNoKeys) {
		p := wire.NewProblem(http.StatusServiceUnavailable, wire.CodeKeysUnavailable, err.Error()+"; try again")
		p.RetryAfter = 5
		return p
	}
	return nil
}

// WhenOver calls cancel when the caller's token ends before the context does, so that who waits is not left waiting. The function that it returns
// lets go of it.
func WhenOver(ctx context.Context, who *auth.Identity, cancel func()) func() {
	if who.Ended == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-who.Ended:
			cancel()
		case <-done:
		case <-ctx.Done():
		}
	}()
	return func() { close(done) }
}

// logRefusal tells of a caller that is not known. Tokens are not in it, nor what a client made up.
func (a *API) logRefusal(w http.ResponseWriter, r *http.Request, prob *wire.Problem) {
	level := slog.LevelInfo
	if prob.Code == wire.CodeTokenMissing {
		level = slog.LevelDebug // browsers and people who look around
	}
	a.log.LogAttrs(r.Context(), level, "a request was refused", append(RequestAttrs(w, r), slog.String("code", string(prob.Code)), slog.String("detail", prob.Detail))...)
}
