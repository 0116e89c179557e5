package mysql

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"

	"tallyman/rules/probe"
)

var (
	// nearText is how the server shows a syntax error: the SQL from there on, cut short.
	nearText = regexp.MustCompile(`(?s)near '(.*)' at line (\d+)$`)
	// firstName is the name of the column or function that the server does not know.
	firstName = regexp.MustCompile(`^(?:Unknown column|FUNCTION) '?([^' ]+)'?`)
)

// place is where in the probe's text the server's complaint stands, in characters from 1; 0 where it does not tell.
func place(e *mysql.MySQLError, stmt *probe.Statement, sql string) int {
	if found := nearText.FindStringSubmatch(e.Message); found != nil {
		at := nearIndex(sql, found[1], found[2])
		if at < 0 {
			return 0
		}
		return stmt.Place(probe.QuestionTime, utf8.RuneCountInString(sql[:at])+1)
	}
	if found := firstName.FindStringSubmatch(e.Message); found != nil {
		name := found[1][strings.LastIndexByte(found[1], '.')+1:]
		return onlyToken(stmt.Text, name)
	}
	return 0
}

// nearIndex finds the text in the line of the SQL that the server counts, as a byte; -1 where it stands there not once.
func nearIndex(sql, near, line string) int {
	number, err := strconv.Atoi(line)
	if err != nil || near == "" {
		return -1
	}
	from := 0
	for range number - 1 {
		next := strings.IndexByte(sql[from:], '\n')
		if next < 0 {
			return -1
		}
		from += next + 1
	}
	line, _, _ = strings.Cut(sql[from:], "\n")
	found := -1
	for i := range line {
		if !strings.HasPrefix(sql[from+i:], near) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = from + i
	}
	return found
}

// onlyToken is the place of the name where it stands once, in characters from 1.
func onlyToken(text, name string) int {
	tokens, _ := probe.Lex(text)
	at := 0
	for _, t := range tokens {
		if !strings.EqualFold(t.Name(), name) {
			continue
		}
		if at > 0 {
			return 0
		}
		at = utf8.RuneCountInString(text[:t.Start]) + 1
	}
	return at
}
