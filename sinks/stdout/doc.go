// Package stdout is the push channel that writes notices to the standard output, to see what a channel would get before it gets it.
//
// It writes one line of JSON, or some lines of text, for each notice and subscriber. A notice counts as delivered once the line is written. The
// channel has no address and no secret.
package stdout
