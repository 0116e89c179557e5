package auth

import "errors"

// Why a request is refused. What is wrapped around them may be shown to whoever asked: it repeats nothing of a token.
var (
	ErrNoToken  = errors.New("a bearer token is needed")
	ErrBadToken = errors.New("the token is not valid")
	ErrExpired  = errors.New("the token has expired")
	ErrRevoked  = errors.New("the token was revoked")
	// ErrNoKeys says that the keys that JWTs are checked with are out of reach.
	ErrNoKeys = errors.New("the keys that JWTs are checked with are out of reach")
)
