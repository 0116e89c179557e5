// Package retry says how long the program waits before it tries again. All loops that ask a ledger, Redis or a source
// use this backoff.
//
// Pauses double from the first to the longest. Half of each pause is random, so that nodes and lanes that failed
// together do not return together. The package itself never waits and never gives up: the loop does both. The pauses
// come from cenkalti/backoff.
//
// The delays between the attempts of a push channel are a promise to operators, and are in package sinks/push.
package retry
