package postgres

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"tallyman/internal/ledger"
)

// refusalReasons has the reasons by SQLSTATE, or by its class of two characters. Where quoted is false, the server's
// message may contain values of the record, so the detail leaves it out.
var refusalReasons = map[string]struct {
	reason ledger.RefusalReason
	quoted bool // the detail includes the message
}{
	"53100": {ledger.RefusedDiskFull, true},
	"53":    {ledger.RefusedResources, true},
	"25006": {ledger.RefusedReadOnly, true},
	"58":    {ledger.RefusedDamaged, true},
	"XX":    {ledger.RefusedDamaged, true},
	"42501": {ledger.RefusedPrivilege, true},
	"42":    {ledger.RefusedSchema, true},
	"3F":    {ledger.RefusedSchema, true},
	"23":    {ledger.RefusedConstraint, false},
	"44":    {ledger.RefusedConstraint, false},
	"22":    {ledger.RefusedValue, false},
	"54":    {ledger.RefusedValue, false},
	"40":    {ledger.RefusedConflict, true},
	"55":    {ledger.RefusedConflict, true},
	"57014": {ledger.RefusedTimeout, true},
}

// Refusal implements ledger.Server.
func (l *Ledger) Refusal(err error) (ledger.Refusal, bool) { return refusalOf(err) }

func refusalOf(err error) (ledger.Refusal, bool) {
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	if !errors.As(err, &pg) || errors.As(err, &connect) || len(pg.Code) != 5 {
		return ledger.Refusal{}, false
	}
	class := pg.Code[:2]
	known, ok := refusalReasons[pg.Code]
	if !ok {
		known, ok = refusalReasons[class]
	}
	switch {
	case !ok && (class == "08" || class == "57"): // the server is stopping or starting, so it is out of reach
		return ledger.Refusal{}, false
	case !ok:
		known.reason = ledger.RefusedOther
	}
	r := ledger.Refusal{Reason: known.reason, Code: "SQLSTATE " + pg.Code}
	var detail []string
	if known.quoted {
		detail = append(detail, pg.Message)
	}
	if pg.TableName != "" {
		detail = append(detail, "table "+pg.TableName)
	}
	if pg.ConstraintName != "" {
		detail = append(detail, "constraint "+pg.ConstraintName)
	}
	r.Detail = strings.Join(detail, ", ")
	return r, true
}
