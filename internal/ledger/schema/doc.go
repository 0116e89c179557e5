// Package schema keeps the tables of a ledger at the version of this program. The migrations are .sql files of the
// engine. goose applies each of them in a transaction, and records it in the table ledger_schema.
//
// Each migration is an expand or a contract step, as its header says; docs/adr/migrations.md has the rule. Up applies
// all missing migrations. Expand applies the missing migrations that this program needs. Status lists all migrations
// without a write. Check refuses a ledger that lacks an expand step (ledger.ErrSchema). Check also refuses a ledger
// from which a newer version has removed what this program needs (ledger.ErrNewer). A ledger with a version below the
// first migration was made before 0.1.0, and these four functions refuse it (ledger.ErrOutdated).
package schema
