// Package ledger is the contract of Tallyman's own database, the truth that everything else can be rebuilt from: firings, findings, notices,
// deliveries, items, types, subscriptions. postgres/ and sqlite/ implement it and pass the one suite in ledgertest.
//
// Its methods are declared once, in seven stores beside their types: Firings, Catalogue, Deliveries, Inbox, Queues, Operations and History.
// Callers name a store or a part of one. Sinks do not import this package: what they call is declared in
// internal/delivery and internal/item, and the stores embed it. Ledger is all of them.
//
// A change of what operators set and its record are one transaction. Commit is one transaction, fenced by the token of the claim.
//
// Time: leases are judged by the database's own clock unless the ledger was opened with another one (tests), so a node with a wrong clock cannot
// take what another holds. All times are kept in µs.
//
// The package holds types, promises and the checks that every engine makes. It runs no SQL: see store, postgres and sqlite.
package ledger
