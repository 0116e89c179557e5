package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tallyman/rules/probe"
	"tallyman/scanners"
)

// driverZone returns a name of the location that the driver can load. The driver itself reads the values of columns
// that are declared as times, and does not accept offsets.
func driverZone(location *time.Location) (string, error) {
	name := location.String()
	if !strings.HasPrefix(name, "+") && !strings.HasPrefix(name, "-") {
		return name, nil
	}
	_, seconds := time.Unix(0, 0).In(location).Zone()
	name = fmt.Sprintf("Etc/GMT%+d", -seconds/3600) // names of this kind have the inverse sign, as in POSIX
	if _, err := time.LoadLocation(name); err != nil || seconds%3600 != 0 {
		return "", errorf(scanners.CodeUnreachable, false, "write the name of the zone, such as Asia/Kolkata",
			"SQLite's driver cannot read the timezone %s of the source", location)
	}
	return name, nil
}

// clockFunctions are SQLite's time functions. The number says how many arguments a call needs to give all its times. A
// call with fewer arguments uses the clock.
var clockFunctions = map[string]int{"date": 1, "time": 1, "datetime": 1, "julianday": 1, "unixepoch": 1, "strftime": 2, "timediff": 2}

// refuseClock refuses SQLite's own clock if times without a zone are not in UTC. SQLite's clock is in UTC, and its
// modifiers for other zones use the zone of the machine.
func (s *Source) refuseClock(stmt *probe.Statement) error {
	if s.location == time.UTC {
		return nil
	}
	tokens, _ := probe.Lex(stmt.Text)
	for i, t := range tokens {
		called := i+1 < len(tokens) && tokens[i+1].Is("(")
		needs, isClock := clockFunctions[t.Name()]
		switch {
		case t.Is("current_timestamp"), t.Is("current_date"), t.Is("current_time"):
			return s.clockError(stmt, t)
		case isClock && called:
			end := closing(tokens, i+1)
			if end < 0 {
				continue
			}
			args := split(tokens[i+2 : end])
			if end == i+2 {
				args = nil
			}
			if len(args) < needs || hasWord(args, clockWords) || hasWord(args[:needs], fractions) {
				return s.clockError(stmt, t)
			}
		}
	}
	return nil
}

var (
	clockWords = []string{"'now'", "'localtime'", "'utc'"} // the clock, and the modifiers that use the machine's time zone
	fractions  = []string{"'subsec'", "'subsecond'"}       // modifiers; in the place of a time they are the clock
)

// hasWord tells whether one of the words stands in the arguments.
func hasWord(args [][]probe.Token, words []string) bool {
	return slices.ContainsFunc(slices.Concat(args...), func(t probe.Token) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(t.Text, word) })
	})
}

func (s *Source) clockError(stmt *probe.Statement, t probe.Token) error {
	e := errorf(scanners.CodeStatement, false, "write :now, which is in the source's time zone",
		"%s takes a time of UTC or of the machine's time zone, and the source's timezone is %s", t.Text, s.location)
	e.At = 1 + len([]rune(stmt.Text[:t.Start]))
	return e
}
