package scanners

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"tallyman/rules/probe"
	"tallyman/rules/row"
)

// Source is one configured database. It never writes to it.
type Source interface {
	// Prepare checks the statement on the live database without running it and returns its columns,
	// folded to lower case. Errors are Permanent (the statement is wrong) or Transient (out of reach).
	Prepare(ctx context.Context, stmt *probe.Statement) (PreparedProbe, error)
	Ping(ctx context.Context) error
	Close() error
}

// PreparedProbe is a checked statement, safe for concurrent use.
type PreparedProbe interface {
	Columns() []row.Column
	// Scan runs the statement in a read-only transaction that is always rolled back and calls visit
	// for each row. The row and its texts are valid during the call only. It stops early when visit
	// returns an error, which Scan returns unwrapped.
	Scan(ctx context.Context, req Request, visit func(*row.Row) error) (Result, error)
}

// Request is one scan.
type Request struct {
	Args    map[string]any // by parameter name: string, int64, float64, bool, time.Time, row.Value or nil
	Timeout time.Duration  // 0 = the source's statement_timeout
	MaxRows int            // rows to visit at most; 0 = no cap
}

// Result is what a scan saw.
type Result struct {
	Rows int  // rows visited
	More bool // there was at least one row beyond MaxRows
}

// What follows a Source may be able to do beside scanning. Callers ask with a type assertion and say which
// driver cannot.

// Explainer is a Source whose database says beforehand what a statement will cost.
type Explainer interface {
	// Explain asks for the plan of the statement with those arguments (see Request.Args) and does not run it.
	Explain(ctx context.Context, stmt *probe.Statement, args map[string]any) (Plan, error)
}

// Plan is how a database would run a statement.
type Plan struct {
	Cost  float64 // total, in the database's own unit
	Shape string  // the plan's steps without costs and counts, such as "Index Scan bin_stock_pkey": alike for alike plans
}

// Sessions is a Source that opens sessions.
type Sessions interface {
	// Session begins a read-only transaction over one snapshot of the database. In it the staged tables stand before
	// those of their names. Errors are as those of Prepare; CodeStage where a table cannot be staged.
	Session(ctx context.Context, staged []StagedTable) (Session, error)
}

// Session is one read-only transaction over one snapshot: all statements see the same data. Close rolls it back, with
// everything that was staged. It is not safe for concurrent use.
type Session interface {
	Prepare(ctx context.Context, stmt *probe.Statement) (PreparedProbe, error)
	Close() error
}

// StagedTable is a table that a session holds for itself, in the place of the database's own. Columns that it does not name keep the
// type and the default that the real table gives them and may be NULL, but for those that the database numbers, which
// count the rows from 1. A database that has no such table gets one whose columns have the kinds of Columns. Keys, checks and
// triggers of the real table do not apply.
type StagedTable struct {
	Table   string        // as a statement writes it, without a schema
	Columns []row.Column  // only Name and Kind count
	Rows    [][]row.Value // by column
}

// Auditor is a Source whose database says what the source's user may do beside reading.
type Auditor interface {
	// Dangers returns the functions and rights whose effect no rollback undoes, sorted by name.
	Dangers(ctx context.Context) ([]Danger, error)
}

// Danger is a function that the source's user may execute though no probe needs it, or a right that does more than read.
type Danger struct {
	Name   string `json:"name"`   // of the function with its arguments, or of the right
	Does   string `json:"does"`   // with a verb: "acts on the server"
	Revoke string `json:"revoke"` // the SQL by which a DBA takes it away
}

// Clock is a Source whose server has a clock and a time zone.
type Clock interface {
	// Clock returns the server's time, in the time zone of sessions that set none. A zone that Go does not know has the server's name for it,
	// and the offset of now.
	Clock(ctx context.Context) (time.Time, error)
}

// TransactionWatcher is a Source whose database says which transactions are open.
type TransactionWatcher interface {
	// OpenTransactions looks at the transactions of the source's database that have written something.
	OpenTransactions(ctx context.Context) (OpenTransactions, error)
}

// OpenTransactions are those that have written something and not ended.
type OpenTransactions struct {
	Ages   []time.Duration // how long each has been open, in no order
	Hidden int             // sessions of which the source's user may not see that
}

// Inspector is a Source whose catalogue can be read. Names are as a statement writes them: quoted where they have to be.
type Inspector interface {
	// Tables returns the names of tables and views that probes may read, sorted; those outside the default schema with it.
	Tables(ctx context.Context) ([]string, error)
	// Table describes one. *Error with CodeTable where there is none.
	Table(ctx context.Context, name string) (Table, error)
}

// Table is a table or view as the catalogue has it.
type Table struct {
	Name       string       // as Tables has it
	Columns    []row.Column // Kind is row.Null where a probe has to CAST the column
	PrimaryKey []string     // column names in order; nil where there is none, as for a view
	Unique     [][]string   // column names of the other unique indexes that hold for every row
}

// UnknownTable is the error of an Inspector that is asked for a table that is not there.
func UnknownTable(name string) *Error {
	return &Error{Code: CodeTable, Err: fmt.Errorf("there is no table or view %s that the source's user may read", name)}
}

// TableName returns the name that the staged table has in the database: folded to lower case, unless it is quoted.
func (s *StagedTable) TableName() (string, error) {
	name := s.Table
	if len(name) > 2 && name[0] == '"' && name[len(name)-1] == '"' {
		return strings.ReplaceAll(name[1:len(name)-1], `""`, `"`), nil
	}
	switch {
	case name == "":
		return "", s.Fault("", errors.New("has no name"))
	case strings.ContainsAny(name, `."`+"\x00"):
		return "", s.Fault("leave out its schema: the staged table stands before those of all schemas", errors.New("cannot be called so"))
	}
	return strings.ToLower(name), nil
}

// Check tells whether the rows fit the columns.
func (s *StagedTable) Check() error {
	for i, c := range s.Columns {
		if slices.ContainsFunc(s.Columns[:i], func(other row.Column) bool { return strings.EqualFold(other.Name, c.Name) }) {
			return s.Fault("", fmt.Errorf("names column %s twice", c.Name))
		}
	}
	for i, values := range s.Rows {
		if len(values) != len(s.Columns) {
			return s.Fault("", fmt.Errorf("row %d has %d values for %d columns", i+1, len(values), len(s.Columns)))
		}
	}
	return nil
}

// Match returns for each column of the staged table the index of the real one of its name: spelled alike, or else but for
// upper and lower case.
func (s *StagedTable) Match(names []string) ([]int, error) {
	matches := make([]int, len(s.Columns))
	for i, c := range s.Columns {
		match := slices.Index(names, c.Name)
		if match < 0 {
			match = slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, c.Name) })
		}
		if match < 0 {
			return nil, s.Fault("its columns are "+strings.Join(names, ", "), fmt.Errorf("has no column %s", c.Name))
		}
		matches[i] = match
	}
	return matches, nil
}

// Fault says why the table cannot be staged.
func (s *StagedTable) Fault(hint string, err error) *Error {
	return &Error{Code: CodeStage, Hint: hint, Err: fmt.Errorf("table %s %w", s.Table, err)}
}

// NoColumns is the fault of a staged table that neither the database nor a row tells the columns of.
func (s *StagedTable) NoColumns() *Error {
	return s.Fault("give it a row, or use a source that has the table", errors.New("is not in the database, and no row tells its columns"))
}

// Driver declares a kind of database: its package has one, and a table in internal/app names it. Nothing else knows the drivers.
type Driver struct {
	Name    string // as sources.<name>.driver has it
	Covers  string // another product that the driver serves, in its own spelling; "" = none
	Address string // the form of an address
	Wrong   string // what an address of another form is, after its name: "is no PostgreSQL address"
	IsFile  bool   // the address is Name, a colon and a file, which is relative to the configuration
	// IsAddress tells whether the text has the form. It returns no error: what cannot be read cannot be told from its password.
	IsAddress func(address string) bool
	// LooksUpFunctions says that probes may call only functions that are known to read, and those that the source allows.
	LooksUpFunctions bool
	// Open makes a source. It connects when it is first used.
	Open func(ctx context.Context, c Config) (Source, error)
	// Scratch makes a schema of the name on the source's server, for the suite of the drivers. ErrSchemaExists where there is one. The name has letters,
	// digits and _ only.
	Scratch func(ctx context.Context, c Config, name string) (*Scratch, error)
}

// Config is one configured source.
type Config struct {
	URL              string        // of a form and with options that each driver documents
	MaxConnections   int           // scans at once; others wait. 0 = 4
	StatementTimeout time.Duration // of a scan without a timeout of its own, and of Prepare. 0 = 30s
	Limits           Limits
	Location         *time.Location // of times without a zone, and of the session where the database has one; nil = UTC
	Functions        Functions      // of drivers that look functions up
}

// HasDatabase returns an IsAddress: a URL with one of the schemes and a path. An @ in the path belongs to a password that holds a slash.
func HasDatabase(schemes ...string) func(string) bool {
	return func(address string) bool {
		u, err := url.Parse(address)
		return err == nil && slices.Contains(schemes, u.Scheme) && strings.Trim(u.Path, "/") != "" && !strings.Contains(u.Path, "@")
	}
}

// IsFileName refuses what SQLite would read as something else than a file: nothing of it would be there after a restart.
func IsFileName(s string) bool {
	return s != "" && s != ":memory:" && !strings.ContainsAny(s, "?#\x00")
}

// Opened gives a source that could not be made as none: a nil of its type would be one.
func Opened[S Source](s S, err error) (Source, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
