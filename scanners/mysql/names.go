package mysql

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"

	"tallyman/rules/probe"
)

// texts runs one of our own statements, and returns its rows as texts. NULL is "".
func (t *transaction) texts(ctx context.Context, text string, args ...any) ([][]string, error) {
	rows, err := t.conn.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	_, found, err := readTexts(rows)
	return found, err
}

// readTexts reads rows to their end.
func readTexts(rows *sql.Rows) (names []string, found [][]string, err error) {
	defer func() { _ = rows.Close() }()
	if names, err = rows.Columns(); err != nil {
		return nil, nil, err
	}
	values, dest := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		dest[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return nil, nil, err
		}
		var texts []string
		for _, v := range values {
			texts = append(texts, v.String)
		}
		found = append(found, texts)
	}
	return names, found, rows.Err()
}

// quoted returns a name for a session without ANSI_QUOTES.
func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// written returns a name as a probe writes it, in double quotes if needed.
func written(name string) string {
	tokens, faults := probe.Lex(name)
	if len(tokens) == 1 && len(faults) == 0 && tokens[0].Kind == probe.Word && tokens[0].Text == name && !reserved[strings.ToUpper(name)] {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// parseName reads the name of a table as a probe writes it, with or without a database.
func parseName(text, home string) (database, name string, ok bool) {
	tokens, faults := probe.Lex(text)
	switch {
	case len(faults) > 0:
	case len(tokens) == 1:
		database, name = home, nameOf(tokens[0])
	case len(tokens) == 3 && tokens[1].Is("."):
		database, name = nameOf(tokens[0]), nameOf(tokens[2])
	}
	return database, name, database != "" && name != ""
}

// nameOf returns the name that a token writes. A doubled quote in a quoted name stands for one. nameOf returns "" for a
// token that is no name.
func nameOf(t probe.Token) string {
	switch {
	case t.Kind == probe.Word:
		return t.Text
	case t.Kind == probe.Quoted && t.Text[0] != '[':
		return strings.ReplaceAll(t.Name(), t.Text[:1]+t.Text[:1], t.Text[:1])
	}
	return ""
}

// nameAt returns the name that token i writes, in lower case: with the database that stands before it, else with the
// database home. isQualified tells whether a database stands before it. The name is empty if the token is no name.
func nameAt(tokens []probe.Token, i int, home string) (name relation, isQualified bool) {
	name = relation{database: home, table: strings.ToLower(nameOf(tokens[i]))}
	if i >= 2 && tokens[i-1].Is(".") && nameOf(tokens[i-2]) != "" {
		name.database, isQualified = strings.ToLower(nameOf(tokens[i-2])), true
	}
	return name, isQualified
}

// quotedParts matches a name or a text in the definition of a view.
var quotedParts = regexp.MustCompile("(?s)`[^`]*`|'(?:[^'\\\\]|\\\\.)*'")

// lexDefinition cuts the definition of a view into tokens, with empty texts. The server writes a quote in a text as \',
// whatever the sql_mode is. probe.Lex would end the text there and take the SQL behind it for a text.
func lexDefinition(definition string) []probe.Token {
	tokens, _ := probe.Lex(quotedParts.ReplaceAllStringFunc(definition, func(part string) string {
		if part[0] == '\'' {
			return "''"
		}
		return part
	}))
	return tokens
}

var reserved = func() map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(reservedWords) {
		words[word] = true
	}
	return words
}()

// find returns the database and the name of the table or view, as the server spells both. An exact match is preferred
// to a match that differs in case. find returns "" if there is no match.
func (t *transaction) find(ctx context.Context, database, name string) (string, string, error) {
	found, err := t.texts(ctx, findTableSQL, database, name)
	if err != nil || len(found) == 0 {
		return "", "", err
	}
	i := max(slices.IndexFunc(found, func(r []string) bool { return r[0] == database && r[1] == name }), 0)
	return found[i][0], found[i][1], nil
}

// reservedWords are the reserved words of MariaDB or MySQL. As names they must be quoted.
const reservedWords = `ACCESSIBLE ADD ALL ALTER ANALYZE AND AS ASC ASENSITIVE BEFORE BETWEEN BIGINT BINARY BLOB BOTH BY CALL CASCADE CASE
CHANGE CHAR CHARACTER CHECK COLLATE COLUMN CONDITION CONSTRAINT CONTINUE CONVERT CREATE CROSS CUBE CUME_DIST CURRENT_DATE CURRENT_ROLE
CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURSOR DATABASE DATABASES DAY_HOUR DAY_MICROSECOND DAY_MINUTE DAY_SECOND DEC DECIMAL
DECLARE DEFAULT DELAYED DELETE DELETE_DOMAIN_ID DENSE_RANK DESC DESCRIBE DETERMINISTIC DISTINCT DISTINCTROW DIV DOUBLE DO_DOMAIN_IDS DROP DUAL EACH
ELSE ELSEIF EMPTY ENCLOSED ESCAPED EXCEPT EXISTS EXIT EXPLAIN FALSE FETCH FIRST_VALUE FLOAT FLOAT4 FLOAT8 FOR FORCE FOREIGN FROM FULLTEXT
FUNCTION GENERAL GENERATED GET GRANT GROUP GROUPING GROUPS HAVING HIGH_PRIORITY HOUR_MICROSECOND HOUR_MINUTE HOUR_SECOND IF IGNORE
IGNORE_DOMAIN_IDS IGNORE_SERVER_IDS IN INDEX INFILE INNER INOUT INSENSITIVE INSERT INT INT1 INT2 INT3 INT4 INT8 INTEGER INTERSECT INTERVAL INTO
IO_AFTER_GTIDS IO_BEFORE_GTIDS IS ITERATE JOIN JSON_TABLE KEY KEYS KILL LAG LAST_VALUE LATERAL LEAD LEADING LEAVE LEFT LIKE LIMIT LINEAR
LINES LOAD LOCALTIME LOCALTIMESTAMP LOCK LONG LONGBLOB LONGTEXT LOOP LOW_PRIORITY MANUAL MASTER_BIND MASTER_HEARTBEAT_PERIOD
MASTER_SSL_VERIFY_SERVER_CERT MATCH MAXVALUE MEDIUMBLOB MEDIUMINT MEDIUMTEXT MIDDLEINT MINUTE_MICROSECOND MINUTE_SECOND MOD MODIFIES
NATURAL NOT NO_WRITE_TO_BINLOG NTH_VALUE NTILE NULL NUMERIC OF OFFSET ON OPTIMIZE OPTIMIZER_COSTS OPTION OPTIONALLY OR ORDER OUT OUTER
OUTFILE OVER PAGE_CHECKSUM PARALLEL PARSE_VCOL_EXPR PARTITION PERCENT_RANK PRECISION PRIMARY PROCEDURE PURGE QUALIFY RANGE RANK READ READS READ_WRITE
REAL RECURSIVE REFERENCES REF_SYSTEM_ID REGEXP RELEASE RENAME REPEAT REPLACE REQUIRE RESIGNAL RESTRICT RETURN RETURNING REVOKE RIGHT RLIKE
ROW ROWS ROW_NUMBER SCHEMA SCHEMAS SECOND_MICROSECOND SELECT SENSITIVE SEPARATOR SET SHOW SIGNAL SLOW SMALLINT SPATIAL SPECIFIC SQL
SQLEXCEPTION SQLSTATE SQLWARNING SQL_BIG_RESULT SQL_CALC_FOUND_ROWS SQL_SMALL_RESULT SSL STARTING STATS_AUTO_RECALC STATS_PERSISTENT
STATS_SAMPLE_PAGES STORED STRAIGHT_JOIN SYSTEM TABLE TABLESAMPLE TERMINATED THEN TINYBLOB TINYINT TINYTEXT TO TRAILING TRIGGER TRUE UNDO UNION
UNIQUE UNLOCK UNSIGNED UPDATE USAGE USE USING UTC_DATE UTC_TIME UTC_TIMESTAMP VALUES VARBINARY VARCHAR VARCHARACTER VARYING VECTOR VIRTUAL WHEN
WHERE WHILE WINDOW WITH WRITE XOR YEAR_MONTH ZEROFILL`
