// Package store has the methods that the ledgers on PostgreSQL and on SQLite share. They differ only in the text of
// their SQL. Both ledgers embed Store and give it an Engine, which runs statements by name. A statement has the same
// name, the same arguments and the same columns on both engines; its text is in the engine's sql folder.
//
// A change with an audit record is one transaction with its record. Recorder writes the record and reports the steps.
// Times are µs. The argument "now" is null where the engine's own clock counts. Lists are arguments as slices; the
// engine encodes them for its statements.
//
// Methods that handle many rows or must take few round trips are not here. Each engine has its own: claims, commits,
// sent notices, claims of pushes, pushes of items and their moves.
package store
