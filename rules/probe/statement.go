package probe

// Statement is the SQL of a rule, cut at its parameters. Parse makes it.
type Statement struct {
	Text      string          // as written
	Params    []string        // names in order of first appearance
	Times     map[string]bool // those of Params that are built-in timestamps: now, scheduled_at, last_run_at, until
	Watermark []string        // columns that :wm_<column> names, in order of first appearance
	// NullExtended tells that a column of a table may be NULL in the result though the table says NOT NULL:
	// an outer join, a set operation or a grouping set stands somewhere in the text.
	NullExtended bool

	pieces []piece
}

// piece is a stretch of the text: either as written, or a parameter.
type piece struct {
	text  string // to be sent as it is; "" for a parameter
	param string
}

// builtinTimes are the parameters that the engine gives and that are instants.
var builtinTimes = map[string]bool{"now": true, "scheduled_at": true, "last_run_at": true, "until": true}

// watermarkPrefix starts the names of the parameters that hold the watermark of the last run.
const watermarkPrefix = "wm_"

// Builtin tells whether the engine gives the parameter a value, so that a rule cannot.
func Builtin(name string) bool {
	return name == "scope" || builtinTimes[name] || len(name) > len(watermarkPrefix) && name[:len(watermarkPrefix)] == watermarkPrefix
}

// Fault is something in the SQL that keeps it from being a probe.
type Fault struct {
	Offset  int    // where it stands, in characters from the start of the text
	Code    string // stable: sql_empty, sql_unterminated, sql_several_statements, sql_not_select, sql_writes, sql_locks, sql_session, sql_function, sql_parameter, sql_escaped
	Message string
	Hint    string // the way out; "" where the message says it
}

// The codes of faults.
const (
	CodeEmpty        = "sql_empty"
	CodeUnterminated = "sql_unterminated"
	CodeSeveral      = "sql_several_statements"
	CodeNotSelect    = "sql_not_select"
	CodeWrites       = "sql_writes"
	CodeLocks        = "sql_locks"
	CodeSession      = "sql_session"
	CodeFunction     = "sql_function"
	CodeParameter    = "sql_parameter"
	CodeEscaped      = "sql_escaped"
)
