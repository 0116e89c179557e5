// Package silence decides which findings and notices are silenced.
//
// A Silence has matchers, an author, a comment, and either a period or a recurring Window (cron, time zone, duration).
// A Matcher compares one field of a Subject: the rule, type, warehouse, scope, key or a label. A Set says whether a
// subject is silenced at a time, and by which silence.
//
// The package does no I/O and has no clock: the caller passes the time. The ledger keeps the silences, and the engine
// asks the Set.
package silence
