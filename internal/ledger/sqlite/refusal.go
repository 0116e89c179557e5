package sqlite

import (
	"errors"
	"strconv"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"tallyman/internal/ledger"
)

// refusalReasons has the reasons by primary result code of SQLite.
var refusalReasons = map[int]ledger.RefusalReason{
	sqlite3.SQLITE_FULL:       ledger.RefusedDiskFull,
	sqlite3.SQLITE_READONLY:   ledger.RefusedReadOnly,
	sqlite3.SQLITE_NOMEM:      ledger.RefusedResources,
	sqlite3.SQLITE_IOERR:      ledger.RefusedDamaged,
	sqlite3.SQLITE_CORRUPT:    ledger.RefusedDamaged,
	sqlite3.SQLITE_NOTADB:     ledger.RefusedDamaged,
	sqlite3.SQLITE_CANTOPEN:   ledger.RefusedDamaged,
	sqlite3.SQLITE_ERROR:      ledger.RefusedSchema,
	sqlite3.SQLITE_SCHEMA:     ledger.RefusedSchema,
	sqlite3.SQLITE_PERM:       ledger.RefusedPrivilege,
	sqlite3.SQLITE_AUTH:       ledger.RefusedPrivilege,
	sqlite3.SQLITE_CONSTRAINT: ledger.RefusedConstraint,
	sqlite3.SQLITE_TOOBIG:     ledger.RefusedValue,
	sqlite3.SQLITE_MISMATCH:   ledger.RefusedValue,
	sqlite3.SQLITE_RANGE:      ledger.RefusedValue,
	sqlite3.SQLITE_BUSY:       ledger.RefusedConflict,
	sqlite3.SQLITE_LOCKED:     ledger.RefusedConflict,
}

// Refusal implements ledger.Server.
func (l *Ledger) Refusal(err error) (ledger.Refusal, bool) {
	var failure *driver.Error
	if !errors.As(err, &failure) || failure.Code() == sqlite3.SQLITE_INTERRUPT {
		return ledger.Refusal{}, false
	}
	reason, known := refusalReasons[failure.Code()&0xff]
	if !known {
		reason = ledger.RefusedOther
	}
	return ledger.Refusal{Reason: reason, Code: "SQLite " + strconv.Itoa(failure.Code())}, true
}
