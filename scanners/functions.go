package scanners

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tallyman/rules/probe"
)

// Functions says which functions the probes of a source may call beside those that can only read. The zero value allows no other.
type Functions struct {
	Source  string   // the source's name in the configuration; "" where it has none
	Allowed []string // names as Call has them
}

// Call is a function that a probe would call and may not.
type Call struct {
	Name string // as the configuration names it: schema.name, or name alone for the database's own
	Why  string // what is wrong with the function, with a verb: "is volatile"
	Hint string // another way out than to allow the function; "" where there is none
}

// Allows tells whether the configuration names the function.
func (f Functions) Allows(name string) bool { return slices.Contains(f.Allowed, name) }

// Refuse returns the CodeFunction error for the calls, nil where there are none. The error shows the line of the configuration that would
// allow them, and the place of the first in the statement's text, where the text has its name.
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
	hints = append(hints, fmt.Sprintf("where it is known to only read, allow it under %s with the line: %s", section, allowLine(allowed)))
	return &Error{
		Code: CodeFunction, Hint: strings.Join(hints, "; "), At: placeOf(stmt, calls[0].Name),
		Err: fmt.Errorf("the probe calls %s", strings.Join(said, ", and ")),
	}
}

// plainName is a name that YAML takes without quotes.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// allowLine writes the configuration's field functions.
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

// placeOf finds the last part of a function's name in the text, in characters from 1; 0 where it is not there.
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
