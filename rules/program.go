package rules

import (
	"errors"
	"time"

	"tallyman/rules/catalog"
	"tallyman/rules/problem"
	"tallyman/rules/row"
)

// Program is a rule compiled against the columns of its prepared probe. It is not safe for
// concurrent use; a run makes its own with Clone.
type Program struct {
	// built by the rules package; see compile.go
}

// Text is the words of a notice in one language.
type Text struct {
	Title string
	Body  string
}

// Draft is what a rule says about one row: the part of a notice that comes from the rule file.
type Draft struct {
	Type      catalog.Type
	Warehouse string
	Priority  int // 1 (low) … 5 (high)
	Modal     Modal
	Texts     map[string]Text // by language; "" always present
	Fields    []Field         // in the catalogue's (sorted) order
	Expires   time.Duration
}

// Field is one typed value of a notice's data.
type Field struct {
	Name  string
	Value row.Value // cloned
}

var errNotBuilt = errors.New("not built")

// Compile checks the rule against the columns and the catalogue and returns every problem it finds.
func Compile(r *Rule, columns []row.Column, types catalog.Catalog) (*Program, problem.List) {
	return nil, nil
}

// Clone returns a Program for another goroutine.
func (p *Program) Clone() *Program { return p }

// Match evaluates the condition. An error means that the row could not be judged.
func (p *Program) Match(r *row.Row) (bool, error) { return false, errNotBuilt }

// Key returns the canonical JSON array of the key columns (DESIGN section 4).
func (p *Program) Key(r *row.Row) string { return "" }

// Priority evaluates the notice's priority, clamped to 1 … 5.
func (p *Program) Priority(r *row.Row) (int, error) { return 0, errNotBuilt }

// Draft renders the row.
func (p *Program) Draft(r *row.Row) (*Draft, error) { return nil, errNotBuilt }

// Watermark returns the values of the watermark columns, in the rule's order.
func (p *Program) Watermark(r *row.Row) []row.Value { return nil }
