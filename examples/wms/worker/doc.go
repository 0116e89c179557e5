// Worker is an example of a program that takes work from a queue over Tallyman's HTTP API: a forklift that refills pick
// bins. It uses only net/http and encoding/json, and no package of Tallyman, so that you can write it in any language.
// Its parts:
//
//	work.go    decides what to do with an item: finish it, suspend it or store it
//	worker.go  the loop: take a batch, work on its items, renew their leases, stop cleanly
//	client.go  the only request, POST /queues/{queue}/step, which is safe to repeat
//	main.go    flags and signals
package main
