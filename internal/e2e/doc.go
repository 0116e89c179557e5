// Package e2e runs whole nodes as processes of their own, on real servers, and ends them as machines do: with SIGKILL
// in the middle of anything, or with SIGTERM.
//
// Clients poll, stream, lease and receive meanwhile. In the end the ledger, the inboxes, the queues and the receivers
// must agree: nothing is lost, and nothing is there twice. The tests with the build tag site run against proxies that
// CI does not start (make test-site). The package has tests only.
package e2e
