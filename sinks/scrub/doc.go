// Package scrub makes the words of a foreign server or a library fit for a log: without secrets, on one line, and
// short.
//
// A Scrubber knows the secrets of one sink, and replaces each of them by ***, also in their escaped forms. It does not
// replace secrets of less than four bytes, because they would hide ordinary text. Tokens and Address find the parts of
// an address that are secrets.
package scrub
