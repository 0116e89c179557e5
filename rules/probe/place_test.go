package probe_test

import (
	"testing"

	"pgregory.net/rapid"

	"tallyman/rules/probe"
)

func TestPlace(t *testing.T) {
	const sql = `SELECT 'ä' AS a, b\:\:text FROM t WHERE a > :now AND b = :b AND zz = :b`
	stmt, faults := probe.Parse(sql)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	for _, style := range []probe.Style{probe.Dollar, probe.Question} {
		sent, _ := stmt.Render(style)
		for _, word := range []string{"SELECT", "AS", "b", ":text", "WHERE", "AND b", "zz"} {
			if got, want := stmt.Place(style, indexOf(sent, word)), indexOf(sql, word); got != want {
				t.Errorf("%q: %d in %q becomes %d, want %d", word, indexOf(sent, word), sent, got, want)
			}
		}
	}
	sent, _ := stmt.Render(probe.Dollar)
	if got := stmt.Place(probe.Dollar, indexOf(sent, "timestamptz")); got != indexOf(sql, ":now") {
		t.Errorf("inside the parameter: %d", got)
	}
	if got := stmt.Place(probe.Dollar, len(sent)+10); got != 0 {
		t.Errorf("behind the end: %d", got)
	}
}

// indexOf counts in characters from 1.
func indexOf(s, word string) int {
	for i := range []rune(s) {
		if rest := string([]rune(s)[i:]); len(rest) >= len(word) && rest[:len(word)] == word {
			return i + 1
		}
	}
	return 0
}

// Whatever the statement, a place leads into its text.
func TestPlaceStaysInTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"a", " :p", " :now", ` \:`, " 'ü'", " -- :x\n", ", b"})).Draw(t, "parts")
		sql := "SELECT 1"
		for _, p := range parts {
			sql += p
		}
		stmt, faults := probe.Parse(sql)
		if len(faults) > 0 {
			return
		}
		sent, _ := stmt.Render(probe.Dollar)
		last := 0
		for at := range []rune(sent) {
			place := stmt.Place(probe.Dollar, at+1)
			if place < max(last, 1) || place > len([]rune(sql)) {
				t.Fatalf("%d of %q becomes %d of %q", at+1, sent, place, sql)
			}
			last = place
		}
	})
}
