// Package ledgertest is the behaviour that every ledger has: one suite, run by each engine against fresh databases.
//
// Run runs the groups of tests: each group is a list of cases about one store of the contract. Claims, pushes and items are also compared with
// models that know no database, over random steps. Race tests open the ledger as several nodes where the engine allows it.
//
// The engines call CheckKilled, QueriesAreUsed and the benchmarks themselves, since those need a process, a folder or a lot of rows. What only one
// engine does (plans of statements, locks, broken connections, migrations) is tested beside the engine.
package ledgertest
