// Package guard keeps push channels from the network that Tallyman itself stands in: a notice's address may come from people
// who must not reach the machine, its neighbours, or the metadata service of a cloud.
//
// It looks at the address that a connection is about to be made to, after the name was resolved and for each
// connection anew, so that a name that leads elsewhere a moment later (DNS rebinding) gains nothing. What is public and what is not, it has
// from IANA's registries of special-purpose addresses, of the date in guard.go.
package guard
