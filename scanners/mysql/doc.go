// Package mysql scans MariaDB and MySQL through database/sql.
//
// Every scan has a connection of its own, which is closed afterwards. A probe may change its session: user variables,
// locks, settings that a stored function changes. Such changes cannot affect another scan. After a restart of the
// server, the next scan connects again. The transaction is READ ONLY; both servers enforce this for tables of every
// engine. The server's own timeout ends a statement that takes too long. If the caller is gone, KILL ends the
// statement.
//
// The session reads SQL in the same way as rules/probe. For this, sql_mode has, besides the server's modes: ANSI_QUOTES
// ("x" is a name, never a text), NO_BACKSLASH_ESCAPES (a backslash is an ordinary character, in LIKE and REGEXP too)
// and PIPES_AS_CONCAT. SQL that only MySQL would read differently is refused (probe.MySQL).
//
// What conditions see:
//
//   - TINYINT(1) and BIT(1) are bool; other BIT columns are numbers.
//   - BIGINT UNSIGNED is int. A value above 2^63-1 fails the scan.
//   - TIME is a duration. TIMESTAMP and DATETIME are in the source's time zone.
//   - '0000-00-00' is NULL, so even a date that is NOT NULL is nullable. A date with a month or day of 0 fails the
//     scan.
//   - A column with a character set is text, one without is bytes.
//   - MySQL's JSON is json. MariaDB's JSON is a LONGTEXT with a check. The wire does not show the check, so MariaDB's
//     JSON is text.
package mysql
