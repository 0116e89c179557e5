// Package silence says which findings and notices are not told for a while.
//
// A Silence has matchers, an author, a comment, and either a time or a recurring Window (cron, time zone, duration). A Matcher compares one field of
// a Subject: the rule, type, warehouse, scope, key or a label. A Set answers whether a subject is silenced at a time, and by which silence.
//
// The package does no I/O and has no clock: the caller brings the time. The ledger keeps the silences, and the engine asks the Set.
package silence
