// Worker is an example of a program that takes work from a queue over Tallyman's HTTP API: the forklift that refills pick bins.
// It knows net/http and encoding/json and nothing of Tallyman, so that it reads the same in any language. Its parts:
//
//	work.go    what it does with an item: finish it, suspend it or store it
//	worker.go  the loop: take a batch, work through it, keep its leases, stop cleanly
//	client.go  one request, POST /queues/{queue}/step, which carries everything and is safe to repeat
//	main.go    flags and signals
package main
