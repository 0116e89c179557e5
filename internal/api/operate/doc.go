// Package operate serves what operators keep: the catalogue of types, subscriptions, the address book, silences, API tokens, and the records of who
// changed what. It also tells callers who they are.
//
// A change goes through the ledger, which records it with its author in the same transaction. It is in force on the answering node before the
// answer, and on the others within a second. What belongs to one warehouse is for callers whose token allows that warehouse.
//
// Switches of rules are in package internal/api/rulebook, pauses of queues in package internal/api/queues.
package operate
