package condition

import (
	"fmt"
	"strings"
)

// suggest makes the hint for an unknown name: the nearest of the known ones, or what there is.
func suggest(name string, known []string, what string) string {
	best, least := "", len(name)/3+2
	for _, k := range known {
		if strings.EqualFold(k, name) {
			return fmt.Sprintf("did you mean %s? (names are case-sensitive)", k)
		}
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("did you mean %s?", best)
	case what == "" || len(known) == 0:
		return ""
	}
	const most = 30
	if len(known) > most {
		return fmt.Sprintf("%s: %s … (%d)", what, strings.Join(known[:most], ", "), len(known))
	}
	return what + ": " + strings.Join(known, ", ")
}

// distance counts the edits between two names; swapped neighbours are one. Names too long to be typing errors
// of each other are just far apart.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 64 || len(y) > 64 {
		return 64
	}
	before, prev, cur := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(y)]
}
