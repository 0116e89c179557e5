// Package sqlserver scans Microsoft SQL Server through database/sql. The package has been tested with a fake driver,
// but not with a server.
//
// SQL Server has no read-only transactions. Three things keep a probe from writing. The source's user should have
// SELECT and nothing else. Package rules/probe refuses every word that begins another statement. The transaction is
// always rolled back.
//
// If the database allows SNAPSHOT isolation, rows are read under SNAPSHOT. So a probe does not wait for writers, and
// does not block them. Otherwise rows are read under READ COMMITTED. A wait for a lock ends with the timeout of the
// probe. The connection announces ApplicationIntent=ReadOnly, so an availability group may choose a readable replica.
//
// Every scan has a connection of its own, which is closed afterwards. The server has no timeout for statements. When
// the time is up, the driver sends an attention. At most two seconds later, the network connection is cut.
//
// What conditions see:
//
//   - datetime, datetime2 and smalldatetime have no zone. Their values are read in the source's time zone.
//   - money and decimal are exact decimals.
//   - time and uniqueidentifier are text. CHAR loses its padding.
//   - sql_variant has no kind until it is CAST.
//
// Built-in times are sent in the source's time zone, as datetime2, so a datetimeoffset column is best compared with
// :now AT TIME ZONE 'UTC'. Texts are sent as nvarchar, so an indexed varchar column is best compared with CAST(:x AS
// varchar(20)).
package sqlserver
