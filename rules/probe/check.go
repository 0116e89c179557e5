package probe

import (
	"fmt"
	"strings"
)

// checker walks over the tokens of a probe and reports what a read-only statement cannot have.
type checker struct {
	sql    string
	tokens []Token
	faults []Fault
	with   bool // The statement starts with WITH.
	main   bool // The walk has reached the statement after the CTEs.
	depth  int  // How many parentheses are open.
	as     bool // The token before is the keyword AS.
	verb   int  // The index of the last verb that was refused because it writes, or -1.
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

// start checks the first word. It tells whether the rest needs a check as well.
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

// shown returns the text of a token for a message.
func shown(t Token) string {
	const most = 30
	text := []rune(t.Text)
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

func (c *checker) token(i int, t Token) {
	named := c.at(i-1).Is(".") || c.as             // the word is a column or an alias, even where it is a keyword
	defer func() { c.as = t.Is("as") && !named }() // in t.as and x AS as, the last word is such a name
	switch {
	case t.Is("("):
		c.depth++
	case t.Is(")"):
		c.depth--
	case t.Kind == Word && named:
		// a name needs no check, unless it is called below
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

// opensBody tells whether the word at index i is the verb of a statement in parentheses. It is false for a column or a
// function with that name.
func (c *checker) opensBody(i int) bool {
	if !c.at(i - 1).Is("(") {
		return false
	}
	next := c.at(i + 1)
	return next.Kind == Quoted || next.Kind == Word && !continuesExpression[next.Name()]
}

// isMain tells whether the word at index i is the verb after the CTEs of a WITH. A statement has one such verb, so
// isMain sets main when the walk has reached the verb.
func (c *checker) isMain(i int) bool {
	before := c.at(i - 1)
	if !c.with || c.main || c.depth != 0 || before.Is("with") || before.Is("recursive") || before.Is(",") {
		return false
	}
	c.main = true
	return true
}

// afterWrite tells whether INTO belongs to a verb that is reported already, as in INSERT INTO.
func (c *checker) afterWrite(i int) bool { return c.verb >= 0 && i-c.verb <= 4 }

func (c *checker) call(t Token) {
	if f, found := Refuse(t.Name()); found {
		c.fault(t, f.Code, t.Text+" "+f.Does, f.Hint)
	}
}

// modifying holds the verbs of writing statements that may stand in the place of a SELECT: in a CTE, or after it.
var modifying = map[string]bool{"insert": true, "update": true, "delete": true, "merge": true, "replace": true}

// continuesExpression holds words that follow a column. A word before one of them is a column, and not a verb.
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

// Refusal says why a probe cannot call a function.
type Refusal struct {
	Code string // The code of the fault: sql_function, sql_locks or sql_session.
	Does string // What the function does. A message has it after the function's name.
	Hint string // What to do.
}

var (
	setsSession = Refusal{CodeSession, "changes the session", "leave it out: timeouts and settings belong to the source's configuration"}
	takesLock   = Refusal{CodeLocks, "takes or frees a lock that outlives the probe", "leave it out: only one node of the cluster claims a firing"}
	writes      = Refusal{CodeFunction, "writes", readOnlyHint}
	sequence    = Refusal{CodeFunction, "moves a sequence", "read the sequence's last_value instead"}
	server      = Refusal{CodeFunction, "acts on the server", "run it by hand; a probe only reads"}
	files       = Refusal{CodeFunction, "reaches the server's files", "load the file into a table and read the table"}
	elsewhere   = Refusal{CodeFunction, "reaches another server, past the read-only transaction", "configure that server as a source of its own"}
	hidden      = Refusal{CodeFunction, "runs SQL that cannot be checked here", "write that SQL as the probe"}
	loadsCode   = Refusal{CodeFunction, "loads code", "leave it out"}
)

// refusedNames and refusedPrefixes list functions that do more than read. A read-only transaction would refuse some of
// these functions anyway; the list gives them a better message. The transaction would allow the others.
var refusedNames = map[string]Refusal{
	"set_config": setsSession, "setseed": setsSession,
	"get_lock": takesLock, "release_lock": takesLock, "release_all_locks": takesLock,
	"nextval": sequence, "setval": sequence,
	"lo_import": files, "lo_export": files, "lo_create": writes, "lo_creat": writes, "lo_unlink": writes, "lo_put": writes,
	"lo_from_bytea": writes, "lo_truncate": writes, "lo_truncate64": writes, "lowrite": writes,
	"pg_read_file": files, "pg_read_binary_file": files, "pg_stat_file": files, "pg_current_logfile": files,
	"readfile": files, "writefile": files, "load_file": files, "fsdir": files,
	"load_extension": loadsCode, "fts3_tokenizer": loadsCode,
	"pg_terminate_backend": server, "pg_cancel_backend": server, "pg_reload_conf": server, "pg_rotate_logfile": server,
	"pg_promote": server, "pg_switch_wal": server, "pg_create_restore_point": server, "pg_wal_replay_pause": server,
	"pg_wal_replay_resume": server, "pg_backup_start": server, "pg_backup_stop": server, "pg_start_backup": server,
	"pg_stop_backup": server, "pg_notify": server, "pg_log_backend_memory_contexts": server, "pg_export_snapshot": server,
	"ts_stat": hidden, "xp_cmdshell": server,
}

var refusedPrefixes = []struct {
	prefix string
	Refusal
}{
	{"pg_advisory_", takesLock},
	{"pg_try_advisory_", takesLock},
	{"dblink", elsewhere},
	{"query_to_xml", hidden},
	{"cursor_to_xml", hidden},
	{"table_to_xml", hidden},
	{"schema_to_xml", hidden},
	{"database_to_xml", hidden},
	{"binary_upgrade_", server},
	{"pg_log_", server},
	{"pg_file_", files},
	{"pg_ls_", files},
	{"pg_stat_reset", server},
	{"pg_create_logical_", server},
	{"pg_create_physical_", server},
	{"pg_copy_logical_", server},
	{"pg_copy_physical_", server},
	{"pg_drop_replication_", server},
	{"pg_replication_origin_", server},
	{"pg_replication_slot_", server},
	{"pg_logical_", server},
	{"group_replication_", server},
	{"asynchronous_connection_failover_", server},
	{"version_tokens_", server},
	{"service_get_", takesLock},
	{"service_release_", takesLock},
	{"sys_exec", server},
	{"sys_eval", server},
	{"sys_set", server},
}

// Refuse returns why a probe cannot call the function with the name. The answer is the same for all databases.
func Refuse(name string) (Refusal, bool) {
	name = strings.ToLower(name)
	if r, ok := refusedNames[name]; ok {
		return r, true
	}
	for _, p := range refusedPrefixes {
		if strings.HasPrefix(name, p.prefix) {
			return p.Refusal, true
		}
	}
	return Refusal{}, false
}
