package scanners

import (
	"regexp"
	"strings"
)

// Namer is a Source with a catalogue that a probe can search for names.
type Namer interface {
	// Names returns a SELECT of two columns: a table or view, and one of its columns. Names selects all that the
	// source's user may read, without the database's own catalogue.
	Names() string
}

// NameKind tells what a name stands for.
type NameKind string

// The kinds of names.
const (
	NameTable    NameKind = "table"
	NameColumn   NameKind = "column"
	NameFunction NameKind = "function"
	NameColumnOr NameKind = "column or function" // the database does not tell
)

// unknownNames are the messages of the databases about unknown names.
var unknownNames = []struct {
	kind  NameKind
	words *regexp.Regexp
}{
	{NameTable, regexp.MustCompile(`^relation "([^"]+)" does not exist`)},                               // PostgreSQL
	{NameColumn, regexp.MustCompile(`^column "?([^" ]+)"? does not exist`)},                             // PostgreSQL
	{NameFunction, regexp.MustCompile(`^function ([^( ]+)\(.*\) does not exist`)},                       // PostgreSQL
	{NameTable, regexp.MustCompile(`^Table '([^']+)' doesn't exist`)},                                   // MySQL
	{NameColumn, regexp.MustCompile(`^Unknown column '([^']+)' in`)},                                    // MySQL
	{NameFunction, regexp.MustCompile(`^FUNCTION ([^ ]+) does not exist`)},                              // MySQL
	{NameTable, regexp.MustCompile(`no such table: ([^ ]+)`)},                                           // SQLite
	{NameColumn, regexp.MustCompile(`no such column: "?([^" ]+)`)},                                      // SQLite
	{NameFunction, regexp.MustCompile(`no such function: ([^ ]+)`)},                                     // SQLite
	{NameTable, regexp.MustCompile(`^Invalid object name '([^']+)'`)},                                   // SQL Server
	{NameColumn, regexp.MustCompile(`^Invalid column name '([^']+)'`)},                                  // SQL Server
	{NameFunction, regexp.MustCompile(`^'([^']+)' is not a recognized built-in function name`)},         // SQL Server
	{NameTable, regexp.MustCompile(`^ORA-00942: table or view (?:"[^"]+"\.)?"([^"]+)" does not exist`)}, // Oracle from 23 on
	// Oracle before 23, which does not say the name
	{NameTable, regexp.MustCompile(`^ORA-00942`)},
	{NameColumnOr, regexp.MustCompile(`^ORA-00904: (?:"[^"]+"\.)*"([^"]+)"`)}, // Oracle
}

// UnknownName returns the name that the database does not know, without its schema or table. The name is "" if the
// message does not say it. found is false if the message is about something else.
func UnknownName(message string) (kind NameKind, name string, found bool) {
	for _, u := range unknownNames {
		if m := u.words.FindStringSubmatch(message); m != nil {
			if len(m) > 1 {
				name = m[1][strings.LastIndexByte(m[1], '.')+1:]
			}
			return u.kind, name, true
		}
	}
	return "", "", false
}
