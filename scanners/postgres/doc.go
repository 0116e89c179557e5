// Package postgres scans PostgreSQL. It reads the binary wire form of common types straight into a reused row, so that
// a row without a match costs no allocation. Other types arrive as text.
//
// A scan is one extended query on an unnamed statement in BEGIN READ ONLY, which is always rolled back. After the scan,
// everything that may remain in the session is reset. No statement stays prepared on the server, so a pooler in
// transaction mode may stand between.
//
// What conditions see: a timestamp without zone is in the source's time zone, which is also the session's. Infinite
// dates, and dates outside the years 1 to 9999, become the ends of that range. CHAR(n) loses its padding. An interval
// with months is refused, because it has no fixed length. Types without a kind of their own (enums, arrays, ranges …)
// are their text.
package postgres
