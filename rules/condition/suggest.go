package condition

import (
	"fmt"
	"strings"

	"tallyman/rules/problem"
)

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
