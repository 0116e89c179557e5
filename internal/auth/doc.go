// Package auth authenticates the callers of the API, and says which roles and warehouses each caller has.
//
// In mode token (type Bearer) every request carries an API token or a JWT. The ledger keeps API tokens as hashes, and
// type Tokens holds them in memory, so that a request never waits for the ledger. JWTs are checked with a secret, a
// public key, or the Keys of an identity provider.
//
// In mode none (type None) every caller is the same anonymous caller, who may do everything. Therefore the mode is
// accepted only on a loopback address, and every request must name a loopback host.
//
// An Identity travels in the context of its request. Its channel Ended closes when the token is revoked or expires.
// A Spec describes a new token. TokenForm and NewTokenOf convert tokens to and from the forms of package internal/wire,
// for the API and the command line. Package internal/api decides which operations each role allows.
package auth
