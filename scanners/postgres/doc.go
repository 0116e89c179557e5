// Package postgres scans PostgreSQL. It reads the wire's binary form of the common types straight into a reused
// row, so that a row that matches nothing costs no allocation; the rest comes as text.
//
// A scan is one extended query on an unnamed statement inside BEGIN READ ONLY, always rolled back, after which
// whatever could have stuck to the session is reset. Nothing stays prepared on the server, so a pooler in
// transaction mode may stand between.
//
// What conditions see: a timestamp without zone is in the source's time zone, which is the session's too; infinite dates and those outside the years 1 to 9999 become the ends of that range;
// CHAR(n) loses its padding; an interval with months is refused, since it has no fixed length; types without a
// kind of their own (enums, arrays, ranges …) are their text.
package postgres
