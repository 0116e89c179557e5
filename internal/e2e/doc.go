// Package e2e runs whole nodes as processes of their own, on real servers. It ends them with SIGKILL at any moment, or
// with SIGTERM.
//
// Meanwhile clients poll, stream, lease and receive. In the end the ledger, the inboxes, the queues and the receivers
// must agree: nothing is lost, and nothing is doubled. Tests with the build tag site run against proxies that CI does
// not start (make test-site). The package has tests only.
package e2e
