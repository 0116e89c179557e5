package scanners

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"tallyman/rules/probe"
	"tallyman/rules/row"
)

// Values returns the arguments of a scan in the order in which the driver binds them. The error is CodeParam if an
// argument is missing, or has a type that Request does not name.
func Values(args map[string]any, order []string) ([]row.Value, error) {
	values := make([]row.Value, len(order))
	for i, name := range order {
		arg, found := args[name]
		if !found {
			return nil, ParamError(name, fmt.Errorf("has no value"), "give it one under params")
		}
		v, ok := valueOf(arg)
		if !ok {
			return nil, ParamError(name, fmt.Errorf("is a %T", arg), "a parameter is text, a number, true, false or null")
		}
		values[i] = v
	}
	return values, nil
}

func valueOf(arg any) (row.Value, bool) {
	switch a := arg.(type) {
	case nil:
		return row.Value{}, true
	case row.Value:
		return a, true
	case string:
		return row.TextOf(a), true
	case int:
		return row.IntOf(int64(a)), true
	case int64:
		return row.IntOf(a), true
	case float64:
		return row.FloatOf(a), true
	case bool:
		return row.BoolOf(a), true
	case time.Time:
		return row.TimeOf(a), true
	}
	return row.Value{}, false
}

// ParamError returns the error of a parameter's value.
func ParamError(name string, err error, hint string) *Error {
	return &Error{Code: CodeParam, Hint: hint, Err: fmt.Errorf("parameter :%s %w", name, err)}
}

// Functions says which functions the probes of a source may call, besides functions that only read. The zero value
// allows no others.
type Functions struct {
	Source  string   // the source's name in the configuration; "" if it has none
	Allowed []string // names in the form of Call.Name
}

// Call is a function that a probe calls and may not call.
type Call struct {
	Name string // the name as in the configuration: schema.name, or name alone for a function of the database itself
	Why  string // the fault, beginning with a verb: "is volatile"
	Hint string // a way out other than to allow the function; "" if there is none
}

// Allows tells whether the configuration names the function.
func (f Functions) Allows(name string) bool { return slices.Contains(f.Allowed, name) }

// Refuse returns a CodeFunction error for the calls, or nil if there are none. The hint has the line of the
// configuration that would allow the functions. At is the place of the first function in the statement, if its name
// stands there.
func (f Functions) Refuse(stmt *probe.Statement, calls []Call) error {
	if len(calls) == 0 {
		return nil
	}
	var said, hints []string
	allowed := slices.Clone(f.Allowed)
	for _, c := range calls {
		said = append(said, fmt.Sprintf("%s, which %s", c.Name, c.Why))
		if c.Hint != "" && !slices.Contains(hints, c.Hint) {
			hints = append(hints, c.Hint)
		}
		if !slices.Contains(allowed, c.Name) {
			allowed = append(allowed, c.Name)
		}
	}
	section := "sources." + f.Source
	if f.Source == "" {
		section = "the source"
	}
	hints = append(hints, fmt.Sprintf("if you know that these functions only read, allow the functions under %s with the line: %s", section, allowLine(allowed)))
	return &Error{
		Code: CodeFunction, Hint: strings.Join(hints, "; "), At: placeOf(stmt, calls[0].Name),
		Err: fmt.Errorf("the probe calls %s", strings.Join(said, ", and ")),
	}
}

// plainName matches a name that needs no quotes in YAML.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// allowLine returns the line of the configuration that sets the field "functions" to the names.
func allowLine(names []string) string {
	written := make([]string, len(names))
	for i, name := range names {
		written[i] = name
		if !plainName.MatchString(name) {
			written[i] = "'" + strings.ReplaceAll(name, "'", "''") + "'"
		}
	}
	return "functions: [" + strings.Join(written, ", ") + "]"
}

// placeOf returns where the statement's text calls a function with the last part of the name, in characters from 1.
// placeOf returns 0 if the text has no such call.
func placeOf(stmt *probe.Statement, name string) int {
	last := name[strings.LastIndexByte(name, '.')+1:]
	tokens, _ := probe.Lex(stmt.Text)
	for i, t := range tokens {
		if i+1 < len(tokens) && tokens[i+1].Is("(") && t.Name() != "" && strings.EqualFold(t.Name(), strings.Trim(last, `"`)) {
			return 1 + len([]rune(stmt.Text[:t.Start]))
		}
	}
	return 0
}

// Fold changes the names of the columns to lower case. Fold refuses a column without a name, two columns whose names
// are then equal, and a result without columns. The compiler of a condition decides whether the condition can use a
// name.
func Fold(columns []row.Column) error {
	seen := make(map[string]string, len(columns))
	for i := range columns {
		name := columns[i].Name
		folded := strings.ToLower(name)
		if folded == "" {
			return columnError(fmt.Errorf("column %d has no name", i+1))
		}
		if first, found := seen[folded]; found {
			return columnError(fmt.Errorf("two columns are called %q and %q", first, name))
		}
		seen[folded] = name
		columns[i].Name = folded
	}
	if len(columns) == 0 {
		return &Error{Code: CodeStatement, Err: fmt.Errorf("the statement returns no columns")}
	}
	return nil
}

func columnError(err error) *Error {
	return &Error{Code: CodeColumn, Hint: "name it with AS", Err: err}
}
