package probe

import (
	"regexp"
	"strings"
)

// MySQL returns what MySQL and MariaDB would read otherwise than Parse did, or what only they have and a probe cannot have. Parse
// follows the standard, so that text could stand outside a string, a name or a comment there, past what Parse has looked at.
// It is for SQL without other faults, in a session with ANSI_QUOTES and NO_BACKSLASH_ESCAPES.
func MySQL(sql string) []Fault {
	m := mysqlCheck{lexer: lexer{sql: sql}}
	if at := strings.IndexByte(sql, 0); at >= 0 {
		m.fault(at, CodeNotSelect, "a NUL character, which ends a comment in MySQL", "remove it")
	}
	tokens, _ := Lex(sql)
	from := 0
	for i, t := range tokens {
		m.gap(from, t.Start)
		m.token(t)
		system := i > 0 && tokens[i-1].Is("@") || i+1 < len(tokens) && tokens[i+1].Is("@") // @@name, which can only be read
		if t.Is("@") && !system {
			m.fault(t.Start, CodeSession, "a variable of the session", "write parameters as :name; for running values use row_number(), lag() or a WITH")
		}
		from = t.End()
	}
	m.gap(from, len(sql))
	return m.faults
}

type mysqlCheck struct{ lexer }

// token refuses the quotes that MySQL does not have.
func (m *mysqlCheck) token(t Token) {
	switch {
	case t.Kind == String && t.Text[0] == '$':
		m.fault(t.Start, CodeNotSelect, "MySQL has no $…$ texts", "write it in single quotes, and each ' in it as ''")
	case t.Kind == String && t.Text[0] != '\'':
		m.fault(t.Start, CodeNotSelect, "MySQL has no E'…' texts", "write it without the E; a backslash is a character like any other")
	case t.Kind == Quoted && t.Text[0] == '[':
		m.fault(t.Start, CodeNotSelect, "MySQL has no names in brackets", `write "name"`)
	case t.Kind == Number && !plainNumber.MatchString(t.Text):
		m.fault(t.Start, CodeNotSelect, "letters right after a number", "write a blank between them; a name that begins with a digit goes in double quotes")
	case t.Is("#"):
		m.fault(t.Start, CodeNotSelect, "# begins a comment in MySQL only", "write -- and a blank")
	case t.Is("?"):
		m.fault(t.Start, CodeParameter, "a parameter by position", "write parameters as :name")
	}
}

// hint finds the optimizer hints that set variables, among them the clock of the statement.
var hint = regexp.MustCompile(`(?i)\b(set_var|max_execution_time)\b`)

// plainNumber is a number that MySQL does not cut in two, as it does 1.INTO.
var plainNumber = regexp.MustCompile(`(?i)^(0x[0-9a-f]+|0b[01]+|[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?)$`)

// gap looks at the comments between two tokens.
func (m *mysqlCheck) gap(from, to int) {
	for from < to {
		rest := m.sql[from:to]
		switch {
		case strings.HasPrefix(rest, "--"):
			if len(rest) > 2 && rest[2] != ' ' && rest[2] != '\t' && rest[2] != '\n' && rest[2] != '\r' {
				m.fault(from, CodeNotSelect, "-- begins a comment in MySQL only where a blank follows", "write a blank after --")
			}
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				return
			}
			from += end + 1
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return // Parse has said so
			}
			body := rest[2 : 2+end]
			if at := strings.Index(body, "/*"); at >= 0 {
				m.fault(from+2+at, CodeNotSelect, "comments do not nest in MySQL", "remove the /* inside the comment")
				return
			}
			if strings.HasPrefix(body, "+") && hint.MatchString(body) {
				m.fault(from, CodeSession, "a hint that changes settings of the session", "leave it out: timeouts and settings belong to the source's configuration")
			}
			from += end + 4
		default:
			from++
		}
	}
}
