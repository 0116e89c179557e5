// Package store has what the ledgers on PostgreSQL and on SQLite share: the methods that are the same but for the text of their SQL. Both
// ledgers embed Store, and give it an Engine, which runs statements by their names. A statement has one name, the same arguments and the same
// columns on both engines; its text is in the engine's sql folder.
//
// A change that has a record is one transaction with it; Recorder writes the record and tells the steps. Times are µs; the argument "now" is
// null where the engine's own clock counts. Lists are arguments as slices: the engine gives them the form that its statements take.
//
// Some methods have many rows, or must take few round trips. Each engine has its own of these: claims, commits, notices that are sent, claims of pushes,
// pushes of items and their moves.
package store
