// Package schema keeps a ledger's tables at the version that the program is built with. The steps are the engine's own .sql files; goose applies
// them, each in a transaction, and records them in the table ledger_schema.
//
// Up applies what is missing, Status lists all steps, Check refuses a ledger that is not at the last one (ledger.ErrSchema, ledger.ErrNewer). A ledger whose version is
// below that of the first step was made before 0.1.0, and is refused by all of them (ledger.ErrOutdated).
package schema
