package auth

import "net/http"

// Identity is who a request comes from.
type Identity struct {
	Subject string // who, as the log names it
}

// Authenticator tells the identity of a request or refuses it. An error is one of this package's.
type Authenticator interface {
	Authenticate(r *http.Request) (Identity, error)
}
