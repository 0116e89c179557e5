package scanners

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"tallyman/rules/probe"
	"tallyman/rules/row"
)

// Preparer is a Source or a Session.
type Preparer interface {
	Prepare(ctx context.Context, stmt *probe.Statement) (PreparedProbe, error)
}

// PrepareForms prepares the statement. A column that the rule declares with a form gets the kind of the form. A column
// that the form cannot read stays as it is, and the compiler of the rule refuses it. A text that is declared as a
// decimal also stays a text if the statement compares the column with its watermark. The compiler refuses it too,
// because the database would compare letters instead of numbers. stmt must come from probe.Statement.Declare with the
// columns of forms.
//
// If the statement compares a built-in time with a column that holds no times, PrepareForms returns CodeParam.
func PrepareForms(ctx context.Context, source Preparer, stmt *probe.Statement, forms map[string]row.Form) (PreparedProbe, error) {
	p, err := source.Prepare(ctx, stmt)
	if e, ok := errors.AsType[*Error](err); err != nil && (!ok || e.Code != CodeStatement) {
		return nil, err
	}
	// Check the times first, even if Prepare has failed: the database's own error does not say what to do.
	if refused := checkTimes(ctx, source, stmt); refused != nil {
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	if len(forms) == 0 {
		return p, nil
	}
	return declare(p, stmt, forms), nil
}

// checkTimes asks the database for the types of columns that are compared with built-in times. checkTimes accepts a
// column if the database accepts none of the questions. It refuses a column that has no type.
func checkTimes(ctx context.Context, source Preparer, stmt *probe.Statement) error {
	for _, c := range stmt.Comparisons() {
		if c.Declared {
			continue
		}
		col, err := AskColumn(ctx, source, c.Questions)
		switch e, ok := errors.AsType[*Error](err); {
		case ok && e.Code == CodeColumn:
			return comparisonError(c, "has no type that tells what it holds", "")
		case err != nil:
			return err
		case col != nil && col.Kind != row.Time && col.Kind != row.Date && col.Kind != row.JSON:
			return comparisonError(c, "is a "+col.DBType, col.DBType)
		}
	}
	return nil
}

// AskColumn asks the database for the type of a column. AskColumn asks the questions in turn until the database accepts
// one, and returns nil if the database accepts none. The error is CodeColumn if the database knows the column but not
// its type. Other errors are transient.
func AskColumn(ctx context.Context, source Preparer, questions []string) (*row.Column, error) {
	for _, question := range questions {
		asked, faults := probe.Parse(question)
		if len(faults) > 0 {
			continue
		}
		answer, err := source.Prepare(ctx, asked)
		if e, ok := errors.AsType[*Error](err); IsTransient(err) || ok && e.Code == CodeColumn {
			return nil, err
		}
		if err == nil && len(answer.Columns()) == 1 && answer.Columns()[0].Name == probe.Asked {
			return &answer.Columns()[0], nil
		}
	}
	return nil, nil //nolint:nilnil // no type is an answer
}

func comparisonError(c probe.Comparison, what, dbType string) error {
	return &Error{
		Code: CodeParam, At: c.At,
		Hint: fmt.Sprintf("return %s as a column of the probe, and declare what it holds, for example columns: {%s: %s}. A column of seconds is declared as unix_seconds. Or CAST the column to a time",
			c.Column, c.Name, declarationFor(dbType)),
		Err: fmt.Errorf("the probe compares the time :%s with %s, which %s", c.Param, c.Column, what),
	}
}

// typeSize matches the size of a text type: char(14).
var typeSize = regexp.MustCompile(`(?i)char[a-z0-9 ]*\(([0-9]+)\b`)

// declarationFor proposes a declaration for a text column that holds times, based on the size of its type.
func declarationFor(dbType string) string {
	size := ""
	if m := typeSize.FindStringSubmatch(dbType); m != nil {
		size = m[1]
	}
	switch size {
	case "8":
		return `{type: date, format: "20060102"}`
	case "10":
		return `{type: date, format: "2006-01-02"}`
	case "12":
		return `{type: time, format: "200601021504"}`
	case "14":
		return `{type: time, format: "20060102150405"}`
	case "16":
		return `{type: time, format: "2006-01-02 15:04"}`
	}
	return `{type: time, format: "2006-01-02 15:04:05"}`
}

// declaredProbe gives columns the kinds that the rule declares.
type declaredProbe struct {
	PreparedProbe
	raw     []row.Column
	columns []row.Column
	forms   []row.Form // by column; the zero Form leaves the column as it is
	marks   []bool     // by column: the statement compares the column with its watermark
}

func declare(p PreparedProbe, stmt *probe.Statement, forms map[string]row.Form) *declaredProbe {
	d := &declaredProbe{PreparedProbe: p, raw: p.Columns()}
	d.forms, d.marks = make([]row.Form, len(d.raw)), make([]bool, len(d.raw))
	for i, c := range d.raw {
		form, found := forms[c.Name]
		isMark := slices.Contains(stmt.Params, "wm_"+c.Name)
		isTextMark := isMark && form.Kind == row.Decimal && c.Kind == row.Text
		if found && form.Fit(c) == nil && !isTextMark {
			d.forms[i], c.Kind, c.Declared = form, form.Kind, true
			d.marks[i] = isMark
		}
		d.columns = append(d.columns, c)
	}
	return d
}

// Columns implements PreparedProbe.
func (d *declaredProbe) Columns() []row.Column { return d.columns }

// Scan implements PreparedProbe.
func (d *declaredProbe) Scan(ctx context.Context, req Request, visit func(*row.Row) error) (Result, error) {
	own := row.New(d.columns)
	return d.PreparedProbe.Scan(ctx, req, func(r *row.Row) error {
		for i, v := range r.Values {
			if d.forms[i].Kind == row.Null {
				own.Values[i] = v
				continue
			}
			read, err := d.forms[i].Read(v, &d.raw[i])
			if err != nil {
				return &Error{
					Code: CodeFailed, Hint: "correct the data or the declaration under probe.columns, or let the probe return NULL for a value without content, as NULLIF(" + d.columns[i].Name + ", '')",
					Err: fmt.Errorf("column %s %w%s", d.columns[i].Name, err, where(r, i)),
				}
			}
			if d.marks[i] && !d.forms[i].Keeps(v) {
				return &Error{
					Code: CodeFailed, Hint: "write the fraction into the format: 05.999999999 if the column leaves zeros out, 05.000 if the column always has three digits",
					Err: fmt.Errorf("column %s holds %q, which the format would write as %q: the watermark would not find the row again%s",
						d.columns[i].Name, v, d.forms[i].Write(read, &d.raw[i]), where(r, i)),
				}
			}
			own.Values[i] = read
		}
		return visit(own)
	})
}

// where names a row by its first column.
func where(r *row.Row, column int) string {
	if column == 0 {
		return ""
	}
	return fmt.Sprintf(" (where %s is %s)", r.Columns[0].Name, r.Values[0])
}
