// Package push sends due deliveries to a push channel, according to their strategies. A Runner serves one sink on one
// node. Nodes share the work through the ledger, which gives each delivery to one node at a time.
//
// A delivery passes through the files in this order:
//
//	claim.go    due deliveries are claimed, no more than will be tried soon
//	limits.go   may the sink be called now? breaker, Retry-After, rate
//	attempt.go  which deliveries go out together, and the call
//	judge.go    strategy + answer → what happens to the delivery: a pure function
//	settle.go   the results are recorded, many at a time; late deliveries are ended
//
// run.go is the loop around all of this. One goroutine owns all state of a run. Calls to the ledger and to the channel
// run in other goroutines, which send their results back to it.
package push
