package origin

import (
	"fmt"
	"strings"

	"tallyman/rules/row"
)

// mostFaults is how many rows are told that are wrong.
const mostFaults = 3

// faults are what is wrong with the rows of an answer.
type faults struct {
	what  string // scopes
	rows  int
	wrong int
	first []string
}

// add counts a row; "" is a sound one. It tells whether the row is sound.
func (f *faults) add(fault string) bool {
	f.rows++
	if fault == "" {
		return true
	}
	f.wrong++
	if len(f.first) < mostFaults {
		f.first = append(f.first, fmt.Sprintf("row %d: %s", f.rows, fault))
	}
	return false
}

// Fault says which rows are wrong: then none of the list is taken.
func (f *faults) Fault() error {
	if f.wrong == 0 {
		return nil
	}
	more := ""
	if rest := f.wrong - len(f.first); rest > 0 {
		more = fmt.Sprintf("; %d more", rest)
	}
	return fmt.Errorf("%d of %d rows are no %s: %s%s", f.wrong, f.rows, f.what, strings.Join(f.first, "; "), more)
}

// text copies the text of a value, which lives as long as its row. CHAR columns are padded in some databases.
func text(v *row.Value) string { return strings.TrimSpace(strings.Clone(v.String())) }
