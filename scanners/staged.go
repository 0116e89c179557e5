package scanners

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tallyman/rules/row"
)

// TableName returns the name that the staged table has in the database: folded to lower case, unless it is quoted.
func (s *Staged) TableName() (string, error) {
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
func (s *Staged) Check() error {
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
func (s *Staged) Match(names []string) ([]int, error) {
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
func (s *Staged) Fault(hint string, err error) *Error {
	return &Error{Code: CodeStage, Hint: hint, Err: fmt.Errorf("table %s %w", s.Table, err)}
}

// NoColumns is the fault of a staged table that neither the database nor a row tells the columns of.
func (s *Staged) NoColumns() *Error {
	return s.Fault("give it a row, or use a source that has the table", errors.New("is not in the database, and no row tells its columns"))
}
