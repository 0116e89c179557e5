package sqlserver

import (
	"errors"
	"fmt"
	"strings"

	mssql "github.com/microsoft/go-mssqldb"

	"tallyman/scanners"
)

// Answer judges by the number of the error.
func (d *dialect) Answer(err error, code scanners.Code) *scanners.Error {
	var e mssql.Error
	if !errors.As(err, &e) {
		return nil
	}
	text := strings.Join(strings.Fields(e.Message), " ")
	if e.LineNo > 1 && code == scanners.CodeStatement {
		text += fmt.Sprintf(" (line %d of the probe)", e.LineNo)
	}
	mapped := &scanners.Error{Code: code, Err: fmt.Errorf("%s [error %d]", text, e.Number)}
	if v, found := verdicts[e.Number]; found {
		mapped.Code, mapped.Transient, mapped.Hint = v.code, v.transient, v.hint
		return mapped
	}
	switch {
	case code == scanners.CodeUnreachable: // while it connects, whatever the reason
		mapped.Transient = true
	case e.Class >= 20: // the server ends the connection
		mapped.Code, mapped.Transient = scanners.CodeUnreachable, true
	case e.Class == 17 || e.Class == 19: // it has run out of something
		mapped.Transient = true
	}
	return mapped
}

// verdict is what an error comes to.
type verdict struct {
	code      scanners.Code
	transient bool
	hint      string
}

var (
	away       = verdict{code: scanners.CodeUnreachable, transient: true}
	again      = verdict{code: scanners.CodeFailed, transient: true}
	invalid    = verdict{code: scanners.CodeStatement}
	writes     = verdict{code: scanners.CodeReadOnly, hint: "a probe only reads; it may call a function that writes"}
	notGranted = verdict{code: scanners.CodeStatement, hint: "the source's user needs SELECT on what the probe reads"}
	undeclared = verdict{code: scanners.CodeStatement, hint: "say which type is meant: CAST(:name AS bigint)"}
)

// verdicts holds the errors whose meaning does not depend on when they come, by their number in sys.messages.
var verdicts = map[int32]verdict{
	1222: {code: scanners.CodeTimeout, transient: true, hint: "the rows are locked by a writer; SNAPSHOT isolation in the database avoids that"},
	1205: again,                           // deadlock victim
	3960: again, 3961: again, 3966: again, // the snapshot is gone
	701: again, 8645: again, 8651: again, // no memory

	3906: writes, 3908: writes, // the database is read-only
	229: notGranted, 230: notGranted, 262: notGranted, 297: notGranted, 300: notGranted,
	102: invalid, 156: invalid, 207: invalid, 208: invalid, 209: invalid, 4104: invalid, 8120: invalid, 8155: invalid,
	11509: undeclared, 11526: undeclared,

	18456: away, 18452: away, 18470: away, 18488: away, 4060: away, // no login, no database
	233: away, 10053: away, 10054: away, 10060: away, 40197: away, 40501: away, 40613: away, 49918: away, 49919: away, 49920: away, 6005: away,
}
