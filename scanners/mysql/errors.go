package mysql

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"

	"tallyman/rules/probe"
	"tallyman/scanners"
	"tallyman/scanners/sqldb"
)

// Answer judges an error by its number, or else by the class of its SQLSTATE.
func (d *dialect) Answer(err error, code scanners.Code) *scanners.Error {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return nil
	}
	state := string(e.SQLState[:])
	mapped := &scanners.Error{Code: code, Err: fmt.Errorf("%s [error %d, SQLSTATE %s]", said(e), e.Number, state)}
	connecting := code == scanners.CodeUnreachable
	if verdict, found := verdicts[e.Number]; found && !connecting {
		return verdict.Apply(mapped.Err)
	}
	switch {
	case connecting: // whatever the reason
		mapped.Transient = true
	case strings.HasPrefix(state, "42"):
		mapped.Code = scanners.CodeStatement
	case strings.HasPrefix(state, "08"), strings.HasPrefix(state, "28"):
		mapped.Code, mapped.Transient = scanners.CodeUnreachable, true
	}
	return mapped
}

// said returns the server's message in one line. From a syntax error it removes the advice to read the manual.
func said(e *mysql.MySQLError) string {
	text := strings.Join(strings.Fields(e.Message), " ")
	if _, near, found := strings.Cut(text, "for the right syntax to use near "); found {
		return "syntax error near " + near + " of the probe"
	}
	return text
}

// noColumn is the number of "Unknown column".
const noColumn = 1054

// prepareError returns the error of a statement that could not be prepared. If the author wrote texts in double quotes,
// as MySQL allows, the hint says so.
func (d *dialect) prepareError(err error, stmt *probe.Statement, sql string) error {
	answer := d.Answer(err, scanners.CodeStatement)
	e, ok := errors.AsType[*mysql.MySQLError](err)
	if answer == nil || !ok {
		return err
	}
	answer.At = place(e, stmt, sql)
	if e.Number == noColumn && strings.Contains(sql, `"`) {
		answer.Hint = `write texts in single quotes: 'x'; "x" is the name of a column`
	}
	return answer
}

var (
	tooLong = sqldb.Verdict{Code: scanners.CodeTimeout, Transient: true}
	noZone  = sqldb.Verdict{Code: scanners.CodeUnreachable, Transient: true, Hint: "give the source's timezone as an offset (\"+08:00\"), or load the server's time zone tables"}
)

// The verdicts of all databases, by short names for the table.
var away, again, writes, notGranted = sqldb.Away, sqldb.Again, sqldb.Writes, sqldb.NotGranted

// verdicts has the errors whose SQLSTATE is too vague, by their number in the lists of MariaDB and MySQL.
var verdicts = map[uint16]sqldb.Verdict{
	1969: tooLong,                                                                // MariaDB's max_statement_time
	3024: tooLong,                                                                // MySQL's max_execution_time
	1205: again,                                                                  // lock wait timeout
	1213: again,                                                                  // deadlock
	1317: again,                                                                  // killed by another session
	1615: again,                                                                  // the statement must be prepared again
	1021: again, 1028: again, 1037: again, 1038: again, 1041: again, 1114: again, // disk or memory full

	1792: writes, // the transaction is READ ONLY
	1290: writes, // the server is read-only
	1422: writes, // a commit in a function
	1223: writes, // FLUSH TABLES WITH READ LOCK is held

	1298: noZone,

	1044: notGranted, 1142: notGranted, 1143: notGranted, 1370: notGranted, 1227: notGranted,

	1040: away, 1203: away, 1226: away, // too many connections
	1053: away, 1077: away, 1079: away, 1927: away, // the server stops, or this connection was killed
	1045: away, 1129: away, 1130: away, 1698: away, // no access
	1043: away, 1152: away, 1158: away, 1159: away, 1160: away, 1161: away, 1184: away, // the network
}

var (
	// nearText matches the server's text of a syntax error: the SQL from the error on, cut short.
	nearText = regexp.MustCompile(`(?s)near '(.*)' at line (\d+)$`)
	// firstName matches the name of a column or function that the server does not know.
	firstName = regexp.MustCompile(`^(?:Unknown column|FUNCTION) '?([^' ]+)'?`)
)

// place returns the place of the error in the probe's text, in characters from 1, or 0 if the server does not report
// it.
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

// nearIndex returns the byte index of the text in the given line of the SQL, or -1 if the text does not stand there
// exactly once.
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

// onlyToken returns the place of a name that stands exactly once in the text, in characters from 1, or 0.
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
