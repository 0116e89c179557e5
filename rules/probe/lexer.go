package probe

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"tallyman/rules/problem"
)

// TokenKind tells tokens apart.
type TokenKind uint8

// The kinds of tokens. White space and comments are not tokens.
const (
	Word   TokenKind = iota + 1 // a keyword or a plain identifier
	Quoted                      // an identifier in "…", `…` or […]
	String                      // '…', E'…', $$…$$ and the like
	Number
	Param  // :name
	Colon  // an escaped colon: \:
	Symbol // one character of anything else
)

// Token is a piece of SQL.
type Token struct {
	Kind  TokenKind
	Text  string // As written, with its quotes.
	Start int    // In bytes from the start of the SQL.
}

// End returns the offset of the byte after the token.
func (t Token) End() int { return t.Start + len(t.Text) }

// Is tells whether the token is the keyword, plain identifier or symbol with this text, in upper or lower case.
func (t Token) Is(text string) bool {
	return (t.Kind == Word || t.Kind == Symbol) && strings.EqualFold(t.Text, text)
}

// Name returns the identifier of the token: a quoted identifier without its quotes, or a plain one in lower case. It
// returns "" for any other token.
func (t Token) Name() string {
	if t.Kind == Word {
		return strings.ToLower(t.Text)
	}
	if t.Kind == Quoted && len(t.Text) > 1 { // a lone quote is never closed
		return t.Text[1 : len(t.Text)-1]
	}
	return ""
}

// Lex cuts SQL into tokens. Where databases differ, it follows the standard: a backslash in '…' is a normal character.
// It also knows what PostgreSQL adds: E'…', $tag$…$tag$ and nested comments.
func Lex(sql string) ([]Token, []Fault) {
	l := lexer{sql: sql}
	for l.next() {
	}
	return l.tokens, l.faults
}

type lexer struct {
	sql    string
	pos    int
	tokens []Token
	faults []Fault
}

// next reads one token, one comment or one character of white space. It returns false at the end.
func (l *lexer) next() bool {
	rest := l.sql[l.pos:]
	if rest == "" {
		return false
	}
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case strings.HasPrefix(rest, "--"):
		l.skipLine(rest)
	case strings.HasPrefix(rest, "/*"):
		l.skipComment(rest)
	case unicode.IsSpace(r):
		l.fullWidth(rest[:size])
		l.pos += size
	case (r == 'E' || r == 'e') && strings.HasPrefix(rest[1:], "'"):
		l.emit(String, l.escaped(rest))
	case (r == 'U' || r == 'u') && (strings.HasPrefix(rest[1:], "&'") || strings.HasPrefix(rest[1:], `&"`)):
		l.unicode(rest)
	case r == '\'':
		l.emit(String, l.until(rest, '\'', "text"))
	case r == '"' || r == '`':
		l.emit(Quoted, l.until(rest, byte(r), "name"))
	case r == '[' && l.isBracketName(rest):
		l.emit(Quoted, strings.IndexByte(rest, ']')+1)
	case r == '$' && dollarTag(rest) != "":
		l.emit(String, l.dollarBody(rest))
	case r == '$' && len(rest) > 1 && isDigit(rest[1]):
		l.fault(l.pos, CodeParameter, "a parameter by position", byName)
		l.emit(Symbol, 1)
	case isDigit(rest[0]):
		l.number(rest)
	case isWordRune(r):
		length := wordLength(rest)
		l.fullWidth(rest[:length])
		l.emit(Word, length)
	case strings.HasPrefix(rest, `\:`):
		l.emit(Colon, 2)
	case r == ':' && l.isParam(rest):
		l.emit(Param, 1+nameLength(rest[1:]))
	default:
		l.fullWidth(rest[:size])
		l.emit(Symbol, size)
	}
	return true
}

// fullWidth refuses a full-width character outside of texts and quoted names.
func (l *lexer) fullWidth(text string) {
	if w, found := problem.FindFullWidth([]rune(text), 0); found {
		l.faults = append(l.faults, Fault{Offset: utf8.RuneCountInString(l.sql[:l.pos]) + w.Offset, Code: CodeFullWidth, Message: w.Message(), Hint: w.Hint()})
	}
}

func (l *lexer) emit(kind TokenKind, length int) {
	l.tokens = append(l.tokens, Token{Kind: kind, Text: l.sql[l.pos : l.pos+length], Start: l.pos})
	l.pos += length
}

func (l *lexer) fault(at int, code, message, hint string) {
	l.faults = append(l.faults, faultAt(l.sql, at, code, message, hint))
}

// faultAt makes a fault at a byte of the SQL.
func faultAt(sql string, at int, code, message, hint string) Fault {
	return Fault{Offset: utf8.RuneCountInString(sql[:at]), Code: code, Message: message, Hint: hint}
}

func (l *lexer) skipLine(rest string) {
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		l.pos += i + 1
		return
	}
	l.pos = len(l.sql)
}

func (l *lexer) skipComment(rest string) {
	if strings.HasPrefix(rest, "/*!") || strings.HasPrefix(rest, "/*M!") || strings.HasPrefix(rest, "/*m!") {
		l.fault(l.pos, CodeNotSelect, "a comment that MySQL or MariaDB runs as SQL", "remove the ! after /*")
	}
	depth, i := 1, 2
	for i < len(rest) && depth > 0 {
		switch {
		case strings.HasPrefix(rest[i:], "/*"):
			depth++
			i += 2
		case strings.HasPrefix(rest[i:], "*/"):
			depth--
			i += 2
		default:
			i++
		}
	}
	if depth > 0 {
		l.fault(l.pos, CodeUnterminated, "a comment that is never closed", "")
	}
	l.pos += i
}

// until returns the length of a quoted text. A doubled quote does not end it.
func (l *lexer) until(rest string, quote byte, what string) int {
	for i := 1; i < len(rest); i++ {
		if rest[i] != quote {
			continue
		}
		if i+1 < len(rest) && rest[i+1] == quote {
			i++
			continue
		}
		return i + 1
	}
	l.fault(l.pos, CodeUnterminated, "a "+what+" that is never closed", "")
	return len(rest)
}

// escaped returns the length of E'…', where a backslash escapes the next character.
func (l *lexer) escaped(rest string) int {
	for i := 2; i < len(rest); i++ {
		switch {
		case rest[i] == '\\':
			i++
		case rest[i] == '\'' && i+1 < len(rest) && rest[i+1] == '\'':
			i++
		case rest[i] == '\'':
			return i + 1
		}
	}
	l.fault(l.pos, CodeUnterminated, "a text that is never closed", "")
	return len(rest)
}

// unicode reads U&"…" or U&'…' and refuses it. Its escapes can spell any name, so that nobody sees which function the
// SQL calls.
func (l *lexer) unicode(rest string) {
	kind, what := String, "text"
	if rest[2] == '"' {
		kind, what = Quoted, "name"
	}
	l.fault(l.pos, CodeEscaped, "a "+what+" with Unicode escapes hides what it says", "write the characters themselves, without U&")
	l.emit(kind, len("U&")+l.until(rest[len("U&"):], rest[2], what))
}

// dollarTag returns the $tag$ that starts rest, or "".
func dollarTag(rest string) string {
	i := 1
	for i < len(rest) {
		r, size := utf8.DecodeRuneInString(rest[i:])
		if r == '$' {
			return rest[:i+1]
		}
		if !isWordRune(r) || i == 1 && unicode.IsDigit(r) {
			return ""
		}
		i += size
	}
	return ""
}

func (l *lexer) dollarBody(rest string) int {
	tag := dollarTag(rest)
	if i := strings.Index(rest[len(tag):], tag); i >= 0 {
		return i + 2*len(tag)
	}
	l.fault(l.pos, CodeUnterminated, "a "+tag+" that is never closed", "")
	return len(rest)
}

// isBracketName tells whether brackets hold an identifier (SQLite, SQL Server) and not the index of an array. An index
// follows its array without a space. An identifier does not begin with a digit. It holds only letters, digits, spaces,
// the point, and the characters _ - $ # @
func (l *lexer) isBracketName(rest string) bool {
	end := strings.IndexByte(rest, ']')
	if end < 2 || l.touches() {
		return false
	}
	for i, r := range rest[1:end] {
		if !isWordRune(r) && (i == 0 || !strings.ContainsRune(" -$#@.", r)) {
			return false
		}
	}
	return !isDigit(rest[1])
}

// touches tells whether a token that can have an index ends right at the lexer's position.
func (l *lexer) touches() bool {
	if len(l.tokens) == 0 {
		return false
	}
	last := l.tokens[len(l.tokens)-1]
	return last.End() == l.pos && (last.Kind != Symbol || last.Text == "]" || last.Text == ")")
}

// isParam tells whether the colon at the start of rest begins a parameter.
func (l *lexer) isParam(rest string) bool {
	if l.pos > 0 {
		before, _ := utf8.DecodeLastRuneInString(l.sql[:l.pos])
		if before == ':' || isWordRune(before) {
			return false
		}
	}
	return nameLength(rest[1:]) > 0
}

// nameLength returns the length of the parameter name at the start of s: [A-Za-z_][A-Za-z0-9_]*.
func nameLength(s string) int {
	i := 0
	for i < len(s) && (s[i] == '_' || 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z' || i > 0 && isDigit(s[i])) {
		i++
	}
	return i
}

func wordLength(s string) int {
	for i, r := range s {
		if !isWordRune(r) && r != '$' {
			return i
		}
	}
	return len(s)
}

// written matches a number in every form of the databases. Oracle has 1.5d and 1f.
var written = regexp.MustCompile(`(?i)^(0x[0-9a-f_]+|0o[0-7_]+|0b[01_]+|[0-9][0-9_]*(\.[0-9_]*)?(e[+-]?[0-9_]+)?[df]?)$`)

// number reads a number. It refuses letters right after a number, because some databases end the number there and read
// 1INTO as 1 INTO.
func (l *lexer) number(rest string) {
	length := numberLength(rest)
	if !written.MatchString(rest[:length]) {
		l.fault(l.pos, CodeNotSelect, "letters right after a number", "write a blank between them; a name that begins with a digit goes in double quotes")
	}
	l.emit(Number, length)
}

// numberLength returns the length of a number such as 12, 1.5, 1e-3 or 0x1f. Letters right after the number count as
// part of it.
func numberLength(s string) int {
	i := 1
	for i < len(s) {
		c := s[i]
		exponent := (c == '+' || c == '-') && s[i-1]|0x20 == 'e' && !strings.EqualFold(s[:2], "0x")
		if !isDigit(c) && c != '.' && c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && !exponent {
			break
		}
		i++
	}
	return i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWordRune(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}
