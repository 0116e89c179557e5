// Package guard keeps push channels out of the network in which Tallyman runs. The address of a sink may come from
// people who must not reach this machine, its neighbours, or the metadata service of a cloud.
//
// The guard checks the IP address of each new connection, after the name was resolved. A name that resolves to another
// address a moment later (DNS rebinding) therefore gains nothing. IANA's registries of special-purpose addresses say
// which addresses are public; guard.go has their date.
package guard
