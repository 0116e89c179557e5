package origin

import (
	"fmt"
	"strings"

	"tallyman/rules/row"
)

// mostFaults is how many invalid rows an error names.
const mostFaults = 3

// faults collects the faults of the rows of an answer.
type faults struct {
	what  string // Kind of the rows in the error text, such as scopes.
	rows  int
	wrong int
	first []string // Texts of the first mostFaults faults.
}

// add counts a row and its fault; "" = the row is valid. It tells whether the row is valid.
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

// Fault returns an error that names the first invalid rows, or nil. With an error the ledger gets nothing of the list.
func (f *faults) Fault() error {
	if f.wrong == 0 {
		return nil
	}
	more := ""
	if rest := f.wrong - len(f.first); rest > 0 {
		more = fmt.Sprintf("; %d more", rest)
	}
	return fmt.Errorf("%d of %d rows are not valid %s: %s%s", f.wrong, f.rows, f.what, strings.Join(f.first, "; "), more)
}

// text copies the text of a value, because the value is valid only as long as its row. It trims spaces, because some
// databases pad CHAR columns.
func text(v *row.Value) string { return strings.TrimSpace(strings.Clone(v.String())) }
