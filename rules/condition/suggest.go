package condition

import (
	"fmt"
	"strings"

	"tallyman/rules/problem"
)

// sqlFunctions translate functions that people bring along from SQL.
var sqlFunctions = map[string]string{
	"avg":         "write mean([a, b]), or mean(map(rows, .qty)) with per: result",
	"coalesce":    "write a ?? b",
	"nvl":         "write a ?? b",
	"ifnull":      "write a ?? b",
	"isnull":      "write a == nil, or a ?? b for a default",
	"nullif":      "write a == b ? nil : a",
	"greatest":    "write max(a, b)",
	"least":       "write min(a, b)",
	"length":      "write len(a)",
	"char_length": "write len(a)",
	"substr":      "write a[0:3] for the first three characters",
	"substring":   "write a[0:3] for the first three characters",
	"left":        "write a[:3]",
	"right":       "write a[-3:]",
	"instr":       "write indexOf(a, b)",
	"to_char":     "write string(a), or a.Format(\"2006-01-02\") for a time",
	"to_number":   "write int(a) or float(a)",
	"to_date":     "write date(a)",
	"cast":        "write string(a), int(a) or float(a)",
	"extract":     "write a.Year(), a.Month(), a.Hour() …",
	"datediff":    "write a - b, which is a duration: (a - b).Hours() > 2",
	"getdate":     "write now()",
	"sysdate":     "write now()",
	"mod":         "write a % b",
	"power":       "write a ** b",
}

// suggest makes the hint for an unknown name: the nearest of the known ones, or what there is.
func suggest(name string, known []string, what string) string {
	if hint := problem.DidYouMean(name, known); hint != "" {
		return hint
	}
	const most = 30
	switch {
	case what == "" || len(known) == 0:
		return ""
	case len(known) > most:
		return fmt.Sprintf("%s: %s … (%d)", what, strings.Join(known[:most], ", "), len(known))
	}
	return what + ": " + strings.Join(known, ", ")
}
