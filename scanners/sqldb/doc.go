// Package sqldb is what the scanners through database/sql share: one connection per scan, a read-only transaction
// that always ends, rows converted one after the other into one that is reused, the cap, both timeouts, and errors
// without secrets. What a database does its own way is a Dialect.
package sqldb
