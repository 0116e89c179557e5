// Package ledger is the contract of Tallyman's own database: firings, findings, notices, deliveries, items, types,
// subscriptions. All other data can be rebuilt from it. The packages postgres and sqlite implement the contract and
// pass the same suite, ledgertest.
//
// Each method is declared once, in the store that it belongs to: Firings, Catalogue, Deliveries, Inbox, Queues,
// Operations, History, Lineage, Clock or Server. Ledger is all of them. Callers name a store or a part of one. Sinks
// do not import this package: the parts that they call are declared in internal/delivery and internal/item, and the
// stores embed them.
//
// A change that an operator makes and its audit record are one transaction. Commit is one transaction, fenced by the
// token of the claim.
//
// Time: leases are judged by the database's own clock, so that a node with a wrong clock cannot take what another
// node holds. Only tests open a ledger with another clock. All times are kept in µs.
//
// The package holds types, promises and the checks that every engine makes. It runs no SQL: see store, postgres and
// sqlite.
package ledger
