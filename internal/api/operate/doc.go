// Package operate serves the things that operators maintain: the catalogue of types, subscriptions, the address book,
// silences, API tokens, the ledger's clock, the level of the log, the drain of a node, and the audit. The package also
// answers who the caller is.
//
// The ledger writes a change of its data and the audit record in the same transaction. The audit records a new level of
// the log and a drain before they begin. A change of the ledger's data is in force on the answering node before the
// answer, and on the other nodes within a second. A caller can only see and change things of warehouses that the token
// allows.
//
// Package internal/api/rulebook has the switches of rules, and package internal/api/queues the pauses of queues.
package operate
