// Package scrub makes what a foreign server or a library says fit for a log: without the secrets that it was told, on one line, and short.
//
// A Scrubber knows the secrets of one sink and replaces each of them, also in its escaped forms, by ***. Secrets under four bytes are not replaced,
// since they would hide ordinary text. Tokens and Address find the parts of an address that are secrets.
package scrub
