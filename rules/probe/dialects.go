package probe

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// MySQL reports SQL that MySQL and MariaDB read in another way than Parse. It also reports features of these two
// databases that a probe cannot use. Parse follows the standard. Text that Parse takes for a string, a name or a
// comment could be SQL in MySQL, and nobody would have checked that SQL. The SQL must have no other faults. The session
// must have ANSI_QUOTES and NO_BACKSLASH_ESCAPES.
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
			m.fault(t.Start, CodeSession, "a variable of the session", byName+"; for running values use row_number(), lag() or a WITH")
		}
		from = t.End()
	}
	m.gap(from, len(sql))
	return m.faults
}

type mysqlCheck struct{ lexer }

// token refuses tokens that MySQL does not have or reads in another way.
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
	case t.Kind == Symbol && t.Text[0] >= utf8.RuneSelf: // MySQL reads it as a part of a name, and Lex does not
		m.fault(t.Start, CodeNotSelect, "a character that is no letter, in a name without quotes", "write the name in double quotes")
	case t.Is("#"):
		m.fault(t.Start, CodeNotSelect, "# begins a comment in MySQL only", "write -- and a blank")
	case t.Is("?"):
		m.fault(t.Start, CodeParameter, "a parameter by position", byName)
	}
}

// hint matches the optimizer hints that set variables, such as the timeout of the statement.
var hint = regexp.MustCompile(`(?i)\b(set_var|max_execution_time)\b`)

// plainNumber matches a number that MySQL reads as one token. MySQL cuts others in two: 1.INTO is 1. and INTO.
var plainNumber = regexp.MustCompile(`(?i)^(0x[0-9a-f]+|0b[01]+|[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?)$`)

// gap checks the comments between two tokens.
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
				return // Parse has reported it
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

// SQLServer reports SQL that SQL Server reads in another way than Parse. It also reports features of SQL Server that a
// probe cannot use. SQL Server needs no semicolon between statements. So SQLServer refuses the verbs of other
// statements wherever they stand as words; all of them are reserved words. The SQL must have no other faults. The
// session must have QUOTED_IDENTIFIER ON.
func SQLServer(sql string) []Fault {
	tokens, _ := Lex(sql)
	c := &checker{sql: sql, tokens: tokens}
	for i, t := range tokens {
		switch {
		case t.Kind == String && t.Text[0] != '\'':
			c.fault(t, CodeNotSelect, "SQL Server has only texts in single quotes", "write '…', or N'…', and each ' in it as ''")
		case t.Kind == Quoted && t.Text[0] == '`', t.Is("`"):
			c.fault(t, CodeNotSelect, "SQL Server has no names in backticks", `write "name" or [name]`)
		case t.Is("[") || t.Is("]"):
			c.fault(t, CodeNotSelect, "a name in brackets that cannot be read", `write "name"`)
		case t.Is("@") && !c.at(i+1).Is("@") && !c.at(i-1).Is("@"):
			c.fault(t, CodeParameter, "a variable", byName)
		case t.Is("?"):
			c.fault(t, CodeParameter, "a parameter by position", byName)
		case t.Kind == Word:
			c.serverWord(i, t)
		}
		if name := strings.ToLower(t.Name()); c.at(i+1).Is("(") && (serverFunctions[name] || strings.HasPrefix(name, "xp_")) {
			c.fault(t, files.Code, t.Text+" "+files.Does, files.Hint)
		}
	}
	return c.faults
}

// serverWord checks a word of a statement for SQL Server.
func (c *checker) serverWord(i int, t Token) {
	name, next, before := t.Name(), c.at(i+1), c.at(i-1)
	switch {
	case before.Is("."):
	case name == "merge" && (next.Is("join") || next.Is("union")), name == "use" && (next.Is("hint") || next.Is("plan")):
		// these words belong to query hints
	case serverStatements[name]:
		c.fault(t, CodeSeveral, strings.ToUpper(name)+" begins a statement in SQL Server", "one probe is one SELECT; a column of that name goes in double quotes")
	case name == "next" && next.Is("value"):
		c.fault(t, sequence.Code, "NEXT VALUE FOR "+sequence.Does, "leave it out")
	case name == "openrowset" || name == "openquery" || name == "opendatasource":
		c.fault(t, elsewhere.Code, strings.ToUpper(name)+" "+elsewhere.Does, elsewhere.Hint)
	case lockHints[name] && (before.Is("(") || before.Is(",")) && (next.Is(")") || next.Is(",")):
		c.fault(t, CodeLocks, strings.ToUpper(name)+" takes locks that a read does not need", "leave it out")
	}
}

// serverStatements holds the reserved words of Transact-SQL that begin a statement other than SELECT.
var serverStatements = words(`insert update delete merge truncate drop create alter exec execute grant revoke deny set declare use waitfor
	shutdown kill backup restore begin commit rollback save print raiserror goto if while return break continue dbcc bulk open close
	deallocate checkpoint reconfigure readtext writetext updatetext setuser revert`)

// serverFunctions holds functions of SQL Server that read the server's files.
var serverFunctions = words(`fn_xe_file_target_read_file fn_trace_gettable fn_trace_getinfo fn_get_audit_file fn_dblog fn_dump_dblog dm_os_file_exists
	dm_os_enumerate_filesystem dm_os_enumerate_fixed_drives`)

var lockHints = words("updlock xlock tablock tablockx holdlock serializable paglock")

func words(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

// Oracle reports SQL that Oracle reads in another way than Parse. It also reports features of Oracle that a probe
// cannot use. The SQL must have no other faults.
func Oracle(sql string) []Fault {
	tokens, _ := Lex(sql)
	c := &checker{sql: sql, tokens: tokens}
	from := 0
	for i, t := range tokens {
		c.nested(from, t.Start)
		from = t.End()
		before, next := c.at(i-1), c.at(i+1)
		switch name := t.Name(); {
		case t.Kind == String && t.Text[0] != '\'':
			c.fault(t, CodeNotSelect, "Oracle has no $…$ and E'…' texts", "write '…', and each ' in it as ''")
		case t.Kind == String && before.Kind == Word && before.End() == t.Start && (before.Is("q") || before.Is("nq")):
			c.fault(before, CodeNotSelect, "a probe cannot use q'…' texts", "write '…', and each ' in it as ''")
		case t.Kind == Quoted && t.Text[0] != '"':
			c.fault(t, CodeNotSelect, "Oracle has names in double quotes only", `write "name"`)
		case t.Is(";"):
			c.fault(t, CodeNotSelect, "Oracle does not take the semicolon at the end", "remove it")
		case t.Is("?"):
			c.fault(t, CodeParameter, "a parameter by position", byName)
		case t.Is("@"):
			c.fault(t, elsewhere.Code, "a database link "+elsewhere.Does, elsewhere.Hint)
		case t.Kind == Word && before.Is("with") && (name == "function" || name == "procedure"):
			c.fault(t, hidden.Code, strings.ToUpper(name)+" "+hidden.Does, "leave it out")
		case t.Kind == Word && before.Is(".") && (name == "nextval" || name == "currval"):
			c.fault(t, sequence.Code, strings.ToUpper(name)+" "+sequence.Does, "leave it out")
		case next.Is("(") && oracleReaches[strings.ToLower(name)]:
			c.fault(t, files.Code, t.Text+" reaches files or other servers", elsewhere.Hint)
		case (t.Kind == Word || t.Kind == Quoted) && next.Is(".") && oraclePackages[strings.ToLower(name)]:
			c.fault(t, server.Code, strings.ToUpper(name)+" "+server.Does, server.Hint)
		}
	}
	c.nested(from, len(sql))
	return c.faults
}

// nested refuses a comment inside a comment, because Oracle ends both at the first */.
func (c *checker) nested(from, to int) {
	for from < to {
		rest := c.sql[from:to]
		switch {
		case strings.HasPrefix(rest, "--"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				return
			}
			from += end + 1
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return
			}
			if at := strings.Index(rest[2:2+end], "/*"); at >= 0 {
				c.fault(Token{Start: from + 2 + at}, CodeNotSelect, "comments do not nest in Oracle", "remove the /* inside the comment")
				return
			}
			from += end + 4
		default:
			from++
		}
	}
}

// oracleReaches holds functions and types of Oracle that read files or web addresses.
var oracleReaches = words("bfilename httpuritype ftpuritype dburitype xdburitype sys_dburigen")

// oraclePackages holds Oracle's packages that do more than calculate.
var oraclePackages = words(`dbms_sql dbms_lock dbms_pipe dbms_alert dbms_session dbms_scheduler dbms_job dbms_system dbms_aq dbms_aqadm dbms_xmlgen
	dbms_xmlquery dbms_java dbms_ldap dbms_advisor dbms_backup_restore dbms_datapump dbms_stats
	dbms_transaction dbms_xmlstore dbms_xdb dbms_xslprocessor dbms_file_transfer dbms_cloud utl_http utl_file utl_tcp utl_smtp utl_mail utl_inaddr`)
