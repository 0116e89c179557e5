// Package oracle scans Oracle Database through database/sql. The package has been tested with a fake driver, but not
// with a server.
//
// A scan runs in SET TRANSACTION READ ONLY, and the transaction is always rolled back. Every scan has a connection of
// its own, which is closed afterwards. All rows of a scan come from one snapshot. A scan does not wait for writers, and
// does not block them. A function that the probe calls may still write in an autonomous transaction. To prevent such
// writes, give the source's user SELECT and nothing else.
//
// Prepare asks for SELECT * FROM (the probe) WHERE 1 = 0 with NULLs for parameters. The server compiles and describes
// this statement, and reads nothing. The server has no timeout for statements. When the time is up, the driver sends a
// break if no rows have come yet. At most two seconds later, the network connection is cut.
//
// What conditions see:
//
//   - NUMBER is an exact decimal. A NUMBER that is declared as a whole number of at most 18 digits is an int.
//   - DATE and TIMESTAMP have no zone. Their values are read in the source's time zone, which is also the session's.
//     DATE has a time of day, so DATE is a time.
//   - The empty text is NULL. CHAR loses its padding.
//   - VARCHAR2, CLOB, ROWID and intervals are text. RAW and BLOB are bytes.
//
// A built-in time is sent as a TIMESTAMP, so an indexed DATE column is best compared with CAST(:now AS DATE).
package oracle
