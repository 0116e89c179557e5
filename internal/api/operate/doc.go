// Package operate serves the things that operators maintain: the catalogue of types, subscriptions, the address book,
// silences, API tokens, and the audit. It also answers who the caller is.
//
// The ledger writes a change and its audit record in the same transaction. A change is in force on the answering node
// before the answer, and on the other nodes within a second. A caller can only see and change things of warehouses that
// the token allows.
//
// Package internal/api/rulebook has the switches of rules, and package internal/api/queues the pauses of queues.
package operate
