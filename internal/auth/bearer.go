package auth

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// maxToken is the longest bearer token that is looked at, in bytes.
const maxToken = 16 << 10

// Bearer is the mode token: every request carries an API token or a JWT.
type Bearer struct {
	Tokens *Tokens
	JWT    *JWT // nil = JWTs are not taken
}

// Authenticate takes the request's bearer token apart.
func (b *Bearer) Authenticate(r *http.Request) (Identity, error) {
	token, err := bearer(r.Header["Authorization"])
	switch {
	case err != nil:
		return Identity{}, err
	case strings.HasPrefix(token, SecretPrefix):
		return b.Tokens.identify(token, time.Now())
	case strings.Count(token, ".") != 2:
		return Identity{}, fmt.Errorf("%w: it is neither an API token nor a JWT", ErrBadToken)
	case b.JWT == nil:
		return Identity{}, fmt.Errorf("%w: no JWTs are taken here", ErrBadToken)
	}
	return b.JWT.identify(r.Context(), token)
}

// bearer reads the Authorization headers of a request.
func bearer(headers []string) (string, error) {
	switch {
	case len(headers) == 0 || headers[0] == "" && len(headers) == 1:
		return "", ErrNoToken
	case len(headers) > 1:
		return "", fmt.Errorf("%w: there is more than one Authorization header", ErrBadToken)
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	token = strings.Trim(token, " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer"):
		return "", fmt.Errorf("%w: the Authorization header is not of the form Bearer <token>", ErrNoToken)
	case token == "" || strings.ContainsFunc(token, notInToken):
		return "", fmt.Errorf("%w: the Authorization header is not of the form Bearer <token>", ErrBadToken)
	case len(token) > maxToken:
		return "", fmt.Errorf("%w: it is too long", ErrBadToken)
	}
	return token, nil
}

// notInToken knows what RFC 6750 leaves out of bearer tokens.
func notInToken(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("-._~+/=", r)
}
