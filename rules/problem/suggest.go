package problem

import (
	"fmt"
	"strings"
)

// DidYouMean returns a hint that names the candidate nearest to name, or "" where none is near.
func DidYouMean(name string, candidates []string) string {
	const longest = 64
	if name == "" || len(name) > longest {
		return ""
	}
	best, most := "", max(1, (len([]rune(name))+1)/3)
	for _, c := range candidates {
		if d := distance(fold(name), fold(c)); d < most || d == most && best == "" {
			best, most = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// fold makes spellings alike that differ in case and word breaks only: repeatInterval, repeat-interval.
func fold(s string) []rune {
	return []rune(strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s)))
}

// distance counts insertions, deletions, substitutions and swaps of neighbours between two words.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
