package probe

import "strings"

// Oracle returns what Oracle would read otherwise than Parse did, or what only it has and a probe cannot have. It is for SQL without
// other faults.
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
			c.fault(before, CodeNotSelect, "a text with quotes of its own choice", "write '…', and each ' in it as ''")
		case t.Kind == Quoted && t.Text[0] != '"':
			c.fault(t, CodeNotSelect, "Oracle has names in double quotes only", `write "name"`)
		case t.Is(";"):
			c.fault(t, CodeNotSelect, "Oracle does not take the semicolon at the end", "remove it")
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

// nested refuses a comment in a comment, which Oracle ends at the first */.
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

// oracleReaches holds functions and types of Oracle that read files, or what is behind an address.
var oracleReaches = words("bfilename httpuritype ftpuritype dburitype xdburitype sys_dburigen")

// oraclePackages holds Oracle's packages that do more than calculate.
var oraclePackages = words(`dbms_sql dbms_lock dbms_pipe dbms_alert dbms_session dbms_scheduler dbms_job dbms_system dbms_aq dbms_aqadm dbms_xmlgen
	dbms_xmlquery dbms_java dbms_ldap dbms_advisor dbms_backup_restore dbms_datapump dbms_stats
	dbms_transaction dbms_xmlstore dbms_xdb dbms_xslprocessor dbms_file_transfer dbms_cloud utl_http utl_file utl_tcp utl_smtp utl_mail utl_inaddr`)
