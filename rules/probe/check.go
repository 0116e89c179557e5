package probe

import (
	"fmt"
	"strings"
)

// checker walks the tokens of a probe and notes what a read-only statement cannot have.
type checker struct {
	sql    string
	tokens []Token
	faults []Fault
	with   bool // the statement starts with WITH
	main   bool // the statement after the CTEs was found
	depth  int  // of parentheses
	as     bool // the token before is the keyword AS
	verb   int  // index of the last verb that was refused because it writes; -1 where there is none
}

const readOnlyHint = "a probe only reads: use a SELECT"

func check(sql string, tokens []Token) []Fault {
	c := &checker{sql: sql, tokens: tokens, verb: -1}
	if !c.start() {
		return c.faults
	}
	for i, t := range tokens {
		if t.Is(";") {
			if i+1 < len(tokens) {
				c.fault(tokens[i+1], CodeSeveral, "a second statement", "one probe is one statement; write another rule, or join them with UNION ALL")
			}
			break
		}
		c.token(i, t)
	}
	return c.faults
}

func (c *checker) fault(t Token, code, message, hint string) {
	c.faults = append(c.faults, faultAt(c.sql, t.Start, code, message, hint))
}

// at returns the token with that index, or a zero Token.
func (c *checker) at(i int) Token {
	if i < 0 || i >= len(c.tokens) {
		return Token{}
	}
	return c.tokens[i]
}

// start judges the first word and tells whether the rest is worth a look.
func (c *checker) start() bool {
	i := 0
	for c.at(i).Is("(") {
		i++
	}
	first := c.at(i)
	switch name := first.Name(); {
	case first.Kind == 0 || first.Is(";"):
		c.faults = append(c.faults, Fault{Code: CodeEmpty, Message: "there is no statement", Hint: "write a SELECT"})
		return false
	case first.Kind == Word && name == "with":
		c.with = true
	case first.Kind == Word && (name == "select" || name == "values" || name == "table"):
	case first.Kind == Word && writeVerbs[name]:
		c.fault(first, CodeWrites, strings.ToUpper(name)+" writes", readOnlyHint)
		return false
	case first.Kind == Word && sessionVerbs[name]:
		c.fault(first, CodeSession, strings.ToUpper(name)+" changes the session or the server", readOnlyHint)
		return false
	default:
		c.fault(first, CodeNotSelect, fmt.Sprintf("a probe starts with SELECT, WITH, VALUES or TABLE, not with %s", shown(first)), "")
		return false
	}
	return true
}

// shown is a token as a message shows it.
func shown(t Token) string {
	const most = 30
	text := []rune(t.Text)
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

func (c *checker) token(i int, t Token) {
	named := c.at(i-1).Is(".") || c.as             // a column or an alias, whatever word it is
	defer func() { c.as = t.Is("as") && !named }() // in t.as and x AS as it is such a name
	switch {
	case t.Is("("):
		c.depth++
	case t.Is(")"):
		c.depth--
	case t.Kind == Word && named:
		// only a call is of interest
	case t.Kind == Word:
		c.keyword(i, t)
	}
	if (t.Kind == Word || t.Kind == Quoted) && c.at(i+1).Is("(") {
		c.call(t)
	}
}

func (c *checker) keyword(i int, t Token) {
	next := c.at(i + 1)
	switch name := t.Name(); {
	case modifying[name]:
		if c.opensBody(i) || c.isMain(i) {
			c.fault(t, CodeWrites, strings.ToUpper(name)+" writes", readOnlyHint)
			c.verb = i
		}
	case name == "select" || name == "values" || name == "table":
		c.isMain(i)
	case name == "into" && !c.afterWrite(i):
		c.fault(t, CodeWrites, "SELECT … INTO makes a table", "leave out INTO")
	case name == "for" && (next.Is("update") || next.Is("share") || next.Is("no") || next.Is("key")):
		c.fault(t, CodeLocks, "FOR "+strings.ToUpper(next.Name())+" locks rows", "leave it out: a probe reads without locks")
	case name == "lock" && next.Is("in") && c.at(i+2).Is("share"):
		c.fault(t, CodeLocks, "LOCK IN SHARE MODE locks rows", "leave it out: a probe reads without locks")
	}
}

// opensBody tells whether the word with that index is the verb of a statement in parentheses, and not a
// column or function of that name.
func (c *checker) opensBody(i int) bool {
	if !c.at(i - 1).Is("(") {
		return false
	}
	next := c.at(i + 1)
	return next.Kind == Quoted || next.Kind == Word && !continuesExpression[next.Name()]
}

// isMain tells whether the word with that index is the verb that follows the CTEs of a WITH; there is one.
func (c *checker) isMain(i int) bool {
	before := c.at(i - 1)
	if !c.with || c.main || c.depth != 0 || before.Is("with") || before.Is("recursive") || before.Is(",") {
		return false
	}
	c.main = true
	return true
}

// afterWrite tells whether INTO belongs to a verb that has its fault already.
func (c *checker) afterWrite(i int) bool { return c.verb >= 0 && i-c.verb <= 4 }

func (c *checker) call(t Token) {
	if f, found := Refuse(t.Name()); found {
		c.fault(t, f.Code, t.Text+" "+f.Does, f.Hint)
	}
}

// modifying holds the verbs that may stand where a SELECT may: in a CTE, or after it.
var modifying = map[string]bool{"insert": true, "update": true, "delete": true, "merge": true, "replace": true}

// continuesExpression holds words that follow a column, so that what stands before them is no verb.
var continuesExpression = map[string]bool{
	"and": true, "or": true, "is": true, "in": true, "not": true, "like": true, "between": true, "order": true,
	"asc": true, "desc": true, "collate": true, "as": true, "over": true, "filter": true, "for": true,
}

var writeVerbs = map[string]bool{
	"insert": true, "update": true, "delete": true, "merge": true, "replace": true, "truncate": true, "create": true,
	"alter": true, "drop": true, "copy": true, "grant": true, "revoke": true, "comment": true, "import": true, "refresh": true,
	"reindex": true, "vacuum": true, "cluster": true, "rename": true, "upsert": true,
}

var sessionVerbs = map[string]bool{
	"set": true, "reset": true, "begin": true, "start": true, "commit": true, "end": true, "rollback": true, "abort": true,
	"savepoint": true, "release": true, "pragma": true, "attach": true, "detach": true, "lock": true, "listen": true,
	"unlisten": true, "notify": true, "prepare": true, "execute": true, "deallocate": true, "discard": true, "declare": true,
	"fetch": true, "close": true, "load": true, "use": true, "call": true, "do": true, "analyze": true, "checkpoint": true,
	"kill": true, "flush": true, "shutdown": true,
}
