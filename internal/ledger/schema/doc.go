// Package schema keeps the tables of a ledger at the version of this program. The migrations are .sql files of the
// engine. goose applies each of them in a transaction, and records it in the table ledger_schema.
//
// Up applies the missing migrations, Status lists all of them. Check refuses a ledger that is not at the last
// migration (ledger.ErrSchema, ledger.ErrNewer). A ledger with a version below the first migration was made before
// 0.1.0, and all of them refuse it (ledger.ErrOutdated).
package schema
