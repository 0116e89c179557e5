// Package sqldb is the common part of the drivers that use database/sql.
//
// A Source runs each scan on one connection, in a read-only transaction that always ends. It converts each row into one
// Row that is reused. It enforces the cap of rows and the limits of bytes, reads the server's clock, and removes
// secrets from errors.
//
// A Dialect is the part that differs between databases: how a transaction begins, how columns become values (Convert),
// and which errors are transient. Wires counts the bytes of a connection for drivers that have no limit of their own.
//
// Package sqldb opens no database: each driver does that.
package sqldb
