package app

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tallyman/rules"
	"tallyman/rules/probe"
	"tallyman/rules/problem"
	"tallyman/scanners"
)

// sqlProblem makes a problem of what a source says about a probe. It stands where the source points at, or else at the
// word that it quotes.
func sqlProblem(r *rules.Rule, refused *scanners.Error) problem.Problem {
	message := refused.Err.Error()
	offset := refused.At - 1
	if refused.At == 0 {
		offset = wordIn(r.Probe.SQL, message)
	}
	message = probeLine.ReplaceAllString(message, "") // the place says it
	return r.ProblemIn("probe.sql", offset, string(refused.Code), message, refused.Hint)
}

var probeLine = regexp.MustCompile(` \(line \d+ of the probe\)`)

// quoted finds what databases quote in their messages: near "FORM", column 'qtty', no such table: bin_stok.
var quoted = regexp.MustCompile(`["'` + "`" + `](.+?)["'` + "`" + `]|: ([\w.]+)|:(\w+)`)

// wordIn returns where the SQL has a word that the message quotes, in characters; 0 where it has none.
func wordIn(sql, message string) int {
	tokens, _ := probe.Lex(sql) // it has parsed before
	for _, m := range quoted.FindAllStringSubmatch(message, -1) {
		for _, group := range m[1:] {
			for _, name := range slices.Backward(strings.Split(group, ".")) {
				if at := find(tokens, name); at >= 0 {
					return utf8.RuneCountInString(sql[:at])
				}
			}
		}
	}
	return 0
}

// find returns the offset of the first token that spells the name, or -1.
func find(tokens []probe.Token, name string) int {
	for _, t := range tokens {
		if strings.EqualFold(strings.Trim(t.Text, "\"`[]:"), name) {
			return t.Start
		}
	}
	return -1
}
