// Package auth says who is asking, and what that one may do.
//
// In mode token a request carries an API token or a JWT as its bearer token. API tokens are kept in the ledger, as hashes, and held in memory
// here: no request asks the ledger. In mode none everyone is the same anonymous caller who may do everything, which is why it is accepted on a
// loopback address only, and why a request must have been addressed to that address.
package auth
