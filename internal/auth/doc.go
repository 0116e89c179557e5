// Package auth says who is asking, and what that one may do.
//
// In mode token (Bearer) a request carries an API token or a JWT as its bearer token. API tokens are kept in the ledger, as hashes, and held in
// memory here (Tokens): no request asks the ledger. JWTs are checked with a secret, a public key or the Keys of an identity provider. In mode none
// (None) everyone is the same anonymous caller who may do everything, which is why it is accepted on a loopback address only, and why a request
// must have been addressed to that address.
//
// An Identity travels in the context of its request, and tells when it was revoked or has expired. A Spec is what a new token is to be; TokenForm
// and NewTokenOf turn tokens into the forms of internal/wire and back, for the API and for the command line alike. Which operations a role allows
// stands in internal/api.
package auth
