// Package stdout is the push channel that writes notices to the standard output, to see what a channel would get before it
// gets it.
package stdout
