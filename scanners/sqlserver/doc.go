// Package sqlserver scans Microsoft SQL Server through database/sql. It has been tested against a stand-in for the driver, not
// against a server.
//
// SQL Server has no read-only transactions. What keeps a probe from writing is, in this order: the source's user, who should have
// SELECT and nothing else; what rules/probe refuses, for SQL Server also every word that begins another statement; and the
// transaction, which is always rolled back. Rows are read under SNAPSHOT isolation where the database allows it, so that a probe
// neither waits for writers nor holds them up, and else under READ COMMITTED; no lock is waited for longer than the
// probe may take. The connection announces ApplicationIntent=ReadOnly, which an availability group answers with a readable replica.
//
// Every scan has a connection of its own, closed after it. The server has no timeout for statements: when the time is up the driver
// sends an attention, and two seconds later the network connection is cut.
//
// What conditions see: datetime, datetime2 and smalldatetime have no zone and are taken as of the source's time zone, and
// built-in times are sent in that zone, as datetime2, so a datetimeoffset column is best compared with
// :now AT TIME ZONE 'UTC'; money and decimal are exact decimals; time and uniqueidentifier are text; CHAR loses its padding; sql_variant
// has no kind until it is CAST. Texts are sent as nvarchar: an indexed varchar column is best compared with CAST(:x AS varchar(20)).
package sqlserver
