// Package sqldb is what the drivers over database/sql share.
//
// A Source runs each scan on one connection, in a read-only transaction that always ends. It converts each row into one Row that is reused, holds the
// cap of rows and the limits of bytes, reads both clocks, and takes secrets out of errors. What a database does in its own way is a Dialect: how a
// transaction begins, how columns become values (Convert), and which errors are transient. Wires counts the bytes of a connection where a driver has
// no limit of its own.
//
// Package sqldb opens no database: each driver does that.
package sqldb
