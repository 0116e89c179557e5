package mysql

import (
	"cmp"
	"strconv"
	"strings"
)

// step is one line of an EXPLAIN: one table that is read. Those of one block are done one inside of the other, in order.
type step struct {
	block    string // its number
	kind     string // what it is: SIMPLE, PRIMARY, DERIVED …
	table    string
	access   string // ALL, ref, const …
	key      string
	extra    string
	rows     float64
	filtered float64 // of 1
}

func stepsOf(found []map[string]string) []step {
	var steps []step
	for _, f := range found {
		s := step{block: f["id"], kind: f["select_type"], table: f["table"], access: f["type"], key: f["key"], extra: f["Extra"], filtered: 1}
		s.rows, _ = strconv.ParseFloat(f["rows"], 64)
		if percent, err := strconv.ParseFloat(f["filtered"], 64); err == nil {
			s.filtered = percent / 100
		}
		steps = append(steps, s)
	}
	return steps
}

// shape has a line for each block, and below it one for each table.
func shape(steps []step) string {
	var lines []string
	for i, s := range steps {
		if i == 0 || s.block != steps[i-1].block || s.kind != steps[i-1].kind {
			lines = append(lines, s.kind)
		}
		words := []string{" ", cmp.Or(s.access, "none")}
		for _, word := range []string{s.table, s.key} {
			if word != "" {
				words = append(words, word)
			}
		}
		for what := range strings.SplitSeq(s.extra, "; ") {
			if what == "Using temporary" || what == "Using filesort" || strings.HasPrefix(what, "Using join buffer") {
				words = append(words, "("+what+")")
			}
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return strings.Join(lines, "\n")
}

// rowsRead is how many rows the plan reads. A block that depends on the first is done for each of its rows.
func rowsRead(steps []step) (total float64) {
	var main, out float64 = 1, 1
	for i, s := range steps {
		if i == 0 || s.block != steps[i-1].block {
			out = 1
			if strings.HasPrefix(s.kind, "DEPENDENT") || strings.HasPrefix(s.kind, "UNCACHEABLE") || strings.HasPrefix(s.kind, "LATERAL") {
				out = max(main, 1)
			}
		}
		total += out * s.rows
		out *= s.rows * s.filtered
		if s.block == steps[0].block {
			main = out
		}
	}
	return total
}
