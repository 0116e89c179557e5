// Package ledgertest is the test suite of the ledger's contract. Each engine runs it against fresh databases.
//
// Run runs groups of tests; each group is a list of cases about one part of the contract. Claims, deliveries to push
// channels, and items are also compared, over random steps, with models that use no database. Race tests open the
// ledger as several nodes where the engine allows it.
//
// The engines call CheckKilled, CheckBroken, QueriesAreUsed and the benchmarks themselves, because these need a
// process, a connection, a folder or many rows. Things that only one engine does (plans of statements, locks, broken
// connections, migrations) are tested in the engine's package.
package ledgertest
