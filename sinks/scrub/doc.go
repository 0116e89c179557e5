// Package scrub makes what a foreign server says, or what a library says of it, fit for a log: without the secrets that it was
// told, on one line, and short.
package scrub
