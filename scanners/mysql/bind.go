package mysql

import (
	"fmt"
	"time"

	"tallyman/rules/row"
	"tallyman/scanners/sqldb"
)

// timeForm is how the server reads a time, in the session's zone.
const timeForm = "2006-01-02 15:04:05.000000"

// Bind makes of a parameter's value what the driver sends. Decimals, dates and times go as their texts: the protocol has nothing
// better that the driver would send.
func (d *dialect) Bind(v row.Value) (any, error) {
	switch v.Kind() {
	case row.Date:
		return v.Time().Format(time.DateOnly), nil
	case row.Time:
		return v.Time().In(d.location).Format(timeForm), nil
	case row.Duration:
		return durationText(v.Duration()), nil
	default:
		return sqldb.Plain(v), nil
	}
}

// durationText is the duration as TIME has it.
func durationText(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	return fmt.Sprintf("%s%02d:%02d:%02d.%06d", sign, d/time.Hour, d/time.Minute%60, d/time.Second%60, d/time.Microsecond%1_000_000)
}
