// Package retry says how long the program waits before it tries again: one backoff for the loops that ask a ledger, Redis or a source.
//
// Pauses double from the first to the longest. Half of each pause is random, so that nodes and lanes that failed together do not come back together.
// The package waits for nothing itself and never gives up: the loop does both. The pauses are those of cenkalti/backoff.
//
// The delays between the attempts of a push channel are a promise to operators; package sinks/push has them.
package retry
