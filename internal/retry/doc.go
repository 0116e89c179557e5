// Package retry is how long the program waits before it tries again: one backoff for loops that ask a ledger, Redis or a source.
//
// Pauses double from the first to the longest. Half of each pause is random, so that nodes and lanes that failed together do not come back together. The
// package waits for nothing itself, and gives up never. The delays between the attempts of a push channel are a promise of their own: package sinks/push
// has them.
package retry
