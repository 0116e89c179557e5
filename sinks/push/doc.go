// Package push takes what is due for a push channel to it, as its strategy says. A Runner serves one sink on one node. Nodes
// share the work through the ledger, which gives each delivery to one of them at a time.
//
// A delivery passes through the files in this order:
//
//	claim.go    what is due is claimed, no more than will be tried soon
//	limits.go   whether the sink may be called now: breaker, Retry-After, rate
//	attempt.go  what goes out together, and the call
//	judge.go    strategy + answer → what becomes of the delivery: a pure function
//	settle.go   that is recorded, many at a time; what is too late is ended
//
// run.go is the loop around it all. One goroutine owns all state of a run; calls to the
// ledger and to the channel are made in others, which answer to it.
package push
