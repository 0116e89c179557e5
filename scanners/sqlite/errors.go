package sqlite

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"tallyman/scanners"
)

func errorf(code scanners.Code, transient bool, hint, format string, args ...any) *scanners.Error {
	return &scanners.Error{Code: code, Transient: transient, Hint: hint, Err: fmt.Errorf(format, args...)}
}

// mapError names what went wrong; generic is the code of an error that SQLite has no number of its own for: the
// statement's fault while it is compiled, the data's while it runs.
func mapError(ctx context.Context, err error, generic scanners.Code) *scanners.Error {
	if mapped, ok := errors.AsType[*scanners.Error](err); ok {
		return mapped
	}
	switch cause := ctx.Err(); {
	case errors.Is(cause, context.Canceled), errors.Is(err, context.Canceled):
		return errorf(scanners.CodeFailed, true, "", "%w", context.Canceled)
	case errors.Is(cause, context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return errorf(scanners.CodeTimeout, true, "", "the statement took too long: %w", context.DeadlineExceeded)
	}
	var dbErr *sqlite.Error
	if !errors.As(err, &dbErr) {
		return errorf(generic, false, "", "%w", err)
	}
	switch dbErr.Code() & 0xff {
	case sqlite3.SQLITE_TOOBIG:
		return errorf(scanners.CodeTooLarge, false, "", "%w", err)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM:
		return errorf(scanners.CodeUnreachable, true, "", "%w", err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH:
		return errorf(scanners.CodeReadOnly, false, "a probe only reads", "%w", err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_FULL:
		return errorf(scanners.CodeFailed, true, "", "%w", err)
	}
	return errorf(generic, false, "", "%w", err)
}
