// Package oracle scans Oracle Database through database/sql. It has been tested against a stand-in for the driver, not against a
// server.
//
// A scan runs in SET TRANSACTION READ ONLY, always rolled back, on a connection of its own that is closed after it: all its rows are of one
// moment, and it neither waits for writers nor holds them up. A function that the probe calls may still write in an autonomous
// transaction; what protects there is a user with SELECT and nothing else.
//
// Prepare asks for SELECT * FROM (the probe) WHERE 1 = 0 with NULLs for parameters, which is compiled and described, and reads
// nothing. The server has no timeout for statements: when the time is up the driver sends a break, which it does until the first rows
// have come; two seconds later the network connection is cut.
//
// What conditions see: NUMBER is an exact decimal, and an int where it was declared as a whole number of at most 18 digits; DATE and
// TIMESTAMP have no zone and are taken as of the source's time zone, which is the session's too; DATE has a time of day, so it is
// a time; ” is NULL; CHAR loses its padding; a VARCHAR2 is text, RAW and BLOB are bytes, CLOB, ROWID and intervals are text. A built-in
// time is sent as a TIMESTAMP: an indexed DATE column is best compared with CAST(:now AS DATE).
package oracle
