// Package stdout is the push channel that writes notices to the standard output. It shows what another channel would
// get.
//
// For each delivery it writes one line, of JSON or of text. A notice counts as delivered once the line is written. The
// channel has no address and no secret.
package stdout
