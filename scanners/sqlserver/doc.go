// Package sqlserver scans Microsoft SQL Server through database/sql. It has been tested with a fake driver, but not
// with a server.
//
// SQL Server has no read-only transactions. Three things keep a probe from writing: the source's user, who should have
// SELECT and nothing else; rules/probe, which for SQL Server also refuses every word that begins another statement; and
// the transaction, which is always rolled back.
//
// If the database allows it, rows are read under SNAPSHOT isolation, so that a probe neither waits for writers nor
// blocks them. Otherwise they are read under READ COMMITTED. No lock is waited for longer than the probe may take. The
// connection announces ApplicationIntent=ReadOnly, so an availability group may choose a readable replica.
//
// Every scan has a connection of its own, which is closed afterwards. The server has no timeout for statements. When
// the time is up, the driver sends an attention, and two seconds later the network connection is cut.
//
// What conditions see:
//
//   - datetime, datetime2 and smalldatetime have no zone. They are read in the source's time zone.
//   - money and decimal are exact decimals.
//   - time and uniqueidentifier are text. CHAR loses its padding.
//   - sql_variant has no kind until it is CAST.
//
// Built-in times are sent in the source's time zone, as datetime2, so a datetimeoffset column is best compared with
// :now AT TIME ZONE 'UTC'. Texts are sent as nvarchar, so an indexed varchar column is best compared with CAST(:x AS
// varchar(20)).
package sqlserver
