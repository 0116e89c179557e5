package oracle

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sijms/go-ora/v2/network"

	"tallyman/scanners"
)

// Answer judges by the number of the error.
func (d *dialect) Answer(err error, code scanners.Code) *scanners.Error {
	var e *network.OracleError
	if !errors.As(err, &e) {
		return nil
	}
	mapped := &scanners.Error{Code: code, Err: errors.New(said(e))}
	if v, found := verdicts[e.ErrCode]; found {
		mapped.Code, mapped.Transient, mapped.Hint = v.code, v.transient, v.hint
		return mapped
	}
	switch {
	case code == scanners.CodeUnreachable: // while it connects, whatever the reason
		mapped.Transient = true
	case e.ErrCode >= 900 && e.ErrCode < 1000: // what is wrong with the text of a statement
		mapped.Code = scanners.CodeStatement
	case e.ErrCode >= 12150 && e.ErrCode < 12700: // the network
		mapped.Code, mapped.Transient = scanners.CodeUnreachable, true
	}
	return mapped
}

// said is the server's message, which begins with its number.
func said(e *network.OracleError) string {
	text := strings.Join(strings.Fields(e.Error()), " ")
	if number := fmt.Sprintf("ORA-%05d", e.ErrCode); !strings.Contains(text, number) {
		text = strings.TrimSuffix(number+": "+text, ": ")
	}
	return text
}

// verdict is what an error comes to.
type verdict struct {
	code      scanners.Code
	transient bool
	hint      string
}

var (
	away   = verdict{code: scanners.CodeUnreachable, transient: true}
	again  = verdict{code: scanners.CodeFailed, transient: true}
	writes = verdict{code: scanners.CodeReadOnly, hint: "a probe only reads; it may call a function that writes"}
	grant  = verdict{code: scanners.CodeStatement, hint: "the source's user needs SELECT on what the probe reads"}
)

// verdicts holds the errors whose meaning does not depend on when they come, by their number.
var verdicts = map[int]verdict{
	1013: {code: scanners.CodeTimeout, transient: true},
	918:  {code: scanners.CodeStatement, hint: "name it with AS, or say whose column is meant"},
	942:  grant, 1031: grant, 41900: grant,
	1456: writes, 14551: writes, 14552: writes, 16000: writes,
	54: again, 60: again, 1555: again, 1652: again, 4031: again, 4068: again, 8176: again, 8177: again, 30006: again,
	18: away, 20: away, 2391: away, // too many sessions
	1017: away, 1005: away, 1045: away, 28000: away, 28001: away, 28009: away, // no login
	28: away, 1012: away, 1033: away, 1034: away, 1089: away, 1090: away, 1092: away, 2396: away, // the server stops, or this session was ended
	3113: away, 3114: away, 3135: away, 25408: away,
}
