package probe

import "strings"

// SQLServer returns what SQL Server would read otherwise than Parse did, or what only it has and a probe cannot have. Its
// statements need nothing between them, so the verbs of other statements are refused wherever they stand as words: all of them are
// reserved there. It is for SQL without other faults, in a session with QUOTED_IDENTIFIER ON.
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
			c.fault(t, CodeParameter, "a variable", "write parameters as :name")
		case t.Kind == Word:
			c.serverWord(i, t)
		}
		if name := strings.ToLower(t.Name()); c.at(i+1).Is("(") && (serverFunctions[name] || strings.HasPrefix(name, "xp_")) {
			c.fault(t, files.Code, t.Text+" "+files.Does, files.Hint)
		}
	}
	return c.faults
}

// serverWord judges a word of a statement for SQL Server.
func (c *checker) serverWord(i int, t Token) {
	name, next, before := t.Name(), c.at(i+1), c.at(i-1)
	switch {
	case before.Is("."):
	case name == "merge" && (next.Is("join") || next.Is("union")), name == "use" && (next.Is("hint") || next.Is("plan")):
		// hints
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
