// Package mysql scans MariaDB and MySQL through database/sql.
//
// Every scan has a connection of its own, closed after it: nothing that a probe does to its session (user variables, locks,
// settings changed by a stored function) can reach another, and a server that was restarted is found at the next scan. The
// transaction is READ ONLY, which both servers hold to for tables of every engine. The server's own timeout ends a statement that takes
// too long; one whose caller has gone is ended with KILL.
//
// The session reads SQL as rules/probe does: sql_mode has ANSI_QUOTES ("x" is a name, never a text), NO_BACKSLASH_ESCAPES (a
// backslash is a character like any other, in LIKE and REGEXP too) and PIPES_AS_CONCAT, beside what the server has. What only
// MySQL reads otherwise is refused (probe.MySQL).
//
// What conditions see: TINYINT(1) and BIT(1) are bool, other BIT columns numbers; UNSIGNED BIGINT is int, and a value above 2^63-1
// fails the scan; TIME is a duration; '0000-00-00' is NULL, so a date that is NOT NULL is nullable all the same, and a date
// with a month or day of 0 fails the scan; TIMESTAMP and DATETIME are in the source's time zone; a text is
// what has a character set, bytes what has none. MySQL's JSON is json; MariaDB's is a LONGTEXT with a check, which the wire does not
// tell from other texts, and is text.
package mysql
