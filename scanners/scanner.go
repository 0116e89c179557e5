package scanners

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"tallyman/rules/probe"
	"tallyman/rules/row"
)

// Source is one configured database. A Source never writes to the database.
type Source interface {
	// Prepare checks the statement on the live database without running it, and returns its columns. Column names are
	// folded to lower case. The error is permanent if the statement is wrong, and transient if the database cannot be
	// reached.
	Prepare(ctx context.Context, stmt *probe.Statement) (PreparedProbe, error)
	Ping(ctx context.Context) error
	Close() error
}

// PreparedProbe is a checked statement, safe for concurrent use.
type PreparedProbe interface {
	Columns() []row.Column
	// Scan runs the statement in a read-only transaction that is always rolled back, and calls visit for each row. The
	// row and its texts are valid only during the call. If visit returns an error, Scan stops and returns that error
	// unwrapped.
	Scan(ctx context.Context, req Request, visit func(*row.Row) error) (Result, error)
}

// Request is one scan.
type Request struct {
	Args    map[string]any // by parameter name: string, int, int64, float64, bool, time.Time, row.Value or nil
	Timeout time.Duration  // 0 means the source's statement_timeout
	MaxRows int            // how many rows to visit at most; 0 means no cap
}

// Result is the outcome of a scan.
type Result struct {
	Rows int  // rows that were visited
	More bool // there was at least one row beyond MaxRows
}

// The interfaces below are optional abilities of a Source. A caller finds an ability with a type assertion. A message
// about a missing ability names the driver.

// Explainer is a Source whose database can estimate the cost of a statement.
type Explainer interface {
	// Explain asks for the plan of the statement with these arguments (see Request.Args). Explain does not run the
	// statement.
	Explain(ctx context.Context, stmt *probe.Statement, args map[string]any) (Plan, error)
}

// Plan describes how a database would run a statement.
type Plan struct {
	Cost float64 // total, in the database's own unit
	// the steps of the plan without costs and counts, such as "Index Scan bin_stock_pkey"; equal for equal plans
	Shape string
}

// Sessions is a Source that opens sessions.
type Sessions interface {
	// Session begins a read-only transaction over one snapshot of the database. In this transaction, the staged tables
	// hide the database's tables of the same names. The errors are the errors of Prepare, and CodeStage if a table
	// cannot be staged.
	Session(ctx context.Context, staged []StagedTable) (Session, error)
}

// Session is one read-only transaction over one snapshot: all its statements see the same data. Close rolls the
// transaction back, and removes the staged tables. A Session is not safe for concurrent use.
type Session interface {
	Prepare(ctx context.Context, stmt *probe.Statement) (PreparedProbe, error)
	Close() error
}

// StagedTable is a table that exists in one session only, in the place of the database's own table. Columns names the
// columns that get values from Rows. Any other column keeps the type and default of the real table, and may be NULL.
// But if the database itself numbers such a column, its values are the numbers of the rows, from 1 on. If the database
// has no such table, the columns get the kinds in Columns. Keys, checks and triggers of the real table do not apply.
type StagedTable struct {
	Table   string        // the name as in a statement, without a schema
	Columns []row.Column  // only Name and Kind are used
	Rows    [][]row.Value // one value for each of Columns
}

// Auditor is a Source whose database tells what the source's user may do besides reading.
type Auditor interface {
	// Dangers returns functions and rights that let the user do more than read, sorted by name.
	Dangers(ctx context.Context) ([]Danger, error)
}

// Danger is a function that the source's user may execute although no probe needs it, or a right that does more than
// read.
type Danger struct {
	Name   string `json:"name"`   // the function with its arguments, or the right
	Does   string `json:"does"`   // the effect, beginning with a verb: "acts on the server"
	Revoke string `json:"revoke"` // the SQL with which a DBA revokes it
	Writes bool   `json:"writes"` // it lets the user change rows
}

// Clock is a Source whose server has a clock and a time zone.
type Clock interface {
	// Clock returns the server's time, in the time zone of sessions that set none. If Go does not know the zone, the
	// result has the server's name of the zone and its present offset.
	Clock(ctx context.Context) (time.Time, error)
}

// Certified is a Source whose server may use TLS.
type Certified interface {
	// Certificates returns the certificates that the server sent last, its own first. The result is nil if no
	// connection has used TLS.
	Certificates() []*x509.Certificate
}

// TransactionWatcher is a Source whose database tells which transactions are open.
type TransactionWatcher interface {
	// OpenTransactions returns the open transactions of the source's database that have written something.
	OpenTransactions(ctx context.Context) (OpenTransactions, error)
}

// OpenTransactions are transactions that have written something and have not ended.
type OpenTransactions struct {
	// Ages says how long each has been open, in no order. The age of a prepared transaction counts from its PREPARE,
	// because the database does not tell when it began.
	Ages   []time.Duration
	Hidden int // sessions whose transactions the source's user may not see
}

// Inspector is a Source whose catalogue can be read. Names are written as in a statement, quoted where needed.
type Inspector interface {
	// Tables returns the names of tables and views that probes may read, sorted. Names outside the default schema
	// include the schema.
	Tables(ctx context.Context) ([]string, error)
	// Table describes one table or view. The error is CodeTable if there is no such table.
	Table(ctx context.Context, name string) (Table, error)
}

// Table is a table or view as the catalogue describes it.
type Table struct {
	Name       string       // the name as Tables returns it
	Columns    []row.Column // Kind is row.Null if a probe must CAST the column
	PrimaryKey []string     // column names in order; nil if there is no key, as for a view
	Unique     [][]string   // column names of the other unique indexes that cover every row
}

// UnknownTable returns the error of an Inspector for a table that does not exist.
func UnknownTable(name string) *Error {
	return &Error{Code: CodeTable, Err: fmt.Errorf("there is no table or view %s that the source's user may read", name)}
}

// TableName returns the staged table's name in the database: in lower case, unless it is quoted.
func (s *StagedTable) TableName() (string, error) {
	name := s.Table
	if len(name) > 2 && name[0] == '"' && name[len(name)-1] == '"' {
		return strings.ReplaceAll(name[1:len(name)-1], `""`, `"`), nil
	}
	switch {
	case name == "":
		return "", s.Fault("", errors.New("has no name"))
	case strings.ContainsAny(name, `."`+"\x00"):
		return "", s.Fault("leave out its schema: the staged table replaces the tables of this name in all schemas", errors.New("cannot have this name"))
	}
	return strings.ToLower(name), nil
}

// Check returns an error if the rows do not fit the columns.
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

// Match returns for each column of the staged table the index of the real column of that name. Names are compared
// exactly first, then without case.
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

// Fault returns the error of a table that cannot be staged.
func (s *StagedTable) Fault(hint string, err error) *Error {
	return &Error{Code: CodeStage, Hint: hint, Err: fmt.Errorf("table %s %w", s.Table, err)}
}

// NoColumns returns the fault of a staged table whose columns are unknown: the database has no such table, and there is
// no row.
func (s *StagedTable) NoColumns() *Error {
	return s.Fault("give it a row, or use a source that has the table", errors.New("is not in the database, and no row names its columns"))
}

// Driver declares a kind of database. The package of each driver has one, and a table in internal/app lists it. Nothing
// else knows the drivers.
type Driver struct {
	Name    string // the name in sources.<name>.driver
	Covers  string // another product that the driver serves, as the product spells its name; "" means none
	Address string // an example of an address
	Wrong   string // the fault of an address of another form, without its subject: "is no PostgreSQL address"
	IsFile  bool   // the address is Name, a colon and a file name, relative to the configuration
	// IsAddress tells whether the text has the form of an address. IsAddress returns no error, because an error might
	// show the password in the text.
	IsAddress func(address string) bool
	// LooksUpFunctions tells that the driver looks up the functions of a probe. Probes may then call only functions
	// that are known to read, and functions that the source allows.
	LooksUpFunctions bool
	// Open returns a source. The source connects when it is first used.
	Open func(ctx context.Context, c Config) (Source, error)
	// Scratch creates a schema with this name on the source's server, for the suite of the drivers. Scratch returns
	// ErrSchemaExists if the schema exists. The name has only letters, digits and _.
	Scratch func(ctx context.Context, c Config, name string) (*Scratch, error)
}

// Config is one configured source.
type Config struct {
	URL              string        // each driver documents its form and options
	MaxConnections   int           // how many scans may run at once; others wait. 0 means 4
	StatementTimeout time.Duration // of a scan without a timeout of its own, and of Prepare. 0 means 30 s
	Limits           Limits
	// the time zone of times that name no zone. If sessions of the database have a time zone, sessions get it too. nil
	// means UTC
	Location  *time.Location
	Functions Functions // for drivers that look up functions
}

// HasDatabase returns an IsAddress that accepts a URL with one of the schemes and a path. A path with @ is refused: the
// password had a slash, so the parser took the rest of the password for the path.
func HasDatabase(schemes ...string) func(string) bool {
	return func(address string) bool {
		u, err := url.Parse(address)
		return err == nil && slices.Contains(schemes, u.Scheme) && strings.Trim(u.Path, "/") != "" && !strings.Contains(u.Path, "@")
	}
}

// IsFileName refuses names that SQLite would not read as a file. Data in such a database would be lost at the next
// restart.
func IsFileName(s string) bool {
	return s != "" && s != ":memory:" && !strings.ContainsAny(s, "?#\x00")
}

// Opened returns the source as an interface. After an error, Opened returns a nil interface. An interface that holds a
// nil pointer of type S would not be equal to nil.
func Opened[S Source](s S, err error) (Source, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
