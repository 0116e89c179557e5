// Package sqlite scans SQLite files through database/sql, with one generic row for all types.
//
// Every scan opens the file read-only, and closes it afterwards. So a file that was missing or was replaced is found at
// the next scan, and nothing remains in a session. Opening a file takes less than a millisecond. A single SELECT is a
// transaction of its own. In WAL mode it neither waits for a writer nor blocks one.
//
// SQLite gives types to values, not to columns. So the kind of a column comes from its declared type. The kind of an
// expression comes from its form: functions and operators with a known result, CAST, and the columns in it. If the kind
// is still unknown, the column is refused until the probe uses CAST. A value that does not fit the kind of its column
// fails the scan; nothing is guessed.
//
// Times are read as SQLite documents them: text (ISO 8601, in the source's time zone if the text names none), integers
// (Unix seconds, or milliseconds from 10^11 on) and reals (Julian days). SQLite compares times as plain texts or
// numbers. So a time parameter is written in the form of the column that it is compared with:
//
//   - :wm_<column> is written as that column of the result writes its times.
//   - Any other parameter is written as the column in the same comparison does, even if the result does not have that
//     column.
//   - If the column has no times yet, the form is "2006-01-02 15:04:05", as datetime() writes it.
//
// A column that stores times in several forms is best compared as datetime(column).
package sqlite
