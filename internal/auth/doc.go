// Package auth says who is asking. Its one mode so far is none: everyone is the same anonymous caller, which is
// why it is accepted on a loopback address only, and why a request must have been addressed to that address.
package auth
