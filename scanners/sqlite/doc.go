// Package sqlite scans SQLite files through database/sql, one generic row for all types.
//
// Every scan opens the file, read-only, and closes it again: a file that was away or was replaced is found at the
// next scan, nothing sticks to a session, and opening costs less than a millisecond. A single SELECT is a transaction
// of its own; in WAL mode it neither waits for a writer nor holds one up.
//
// SQLite types values, not columns, so a column's kind comes from its declared type, and an expression's from its
// form: functions and operators whose result is known, CAST, and the columns in it. What that leaves open is refused
// until the probe says CAST. A value that then does not fit its column's kind fails the scan; nothing is guessed.
//
// Times are read as SQLite documents them: text (ISO 8601, in the source's time zone where it names none), integers (Unix seconds, or
// milliseconds from 10^11 on) and reals (Julian days). SQLite compares them as the texts and numbers that they are, so
// a time parameter is written as the column writes its times: :wm_<column> as that column of the result does, the others as the column
// beside them in the comparison does, whether the result has the column or not. Where the column has no times yet, that is "2006-01-02 15:04:05", as
// datetime() writes it; a column that is not stored in one form is best compared as datetime(column).
package sqlite
