package rules

import (
	"fmt"
	"slices"
	"time"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/rules/strictyaml"
)

// Column declares the kind of the values in a column of the probe. A rule needs it where the database's own type does
// not say the kind: times in a text column, for example.
type Column struct {
	Type     string
	Format   string `json:",omitempty"` // For time and date: Go's reference time, written as the column would write it.
	Timezone string `json:",omitempty"` // For time.
}

// The types of columns.
const (
	columnTime    = "time"
	columnDate    = "date"
	columnDecimal = "decimal"
	columnBool    = "bool"
	columnSeconds = "unix_seconds"
	columnMillis  = "unix_milliseconds"
)

// Form returns the form in which the column writes its values. The rule must have been validated.
func (c Column) Form() row.Form {
	f := row.Form{Kind: row.Time, Layout: c.Format}
	if c.Timezone != "" {
		f.Zone, _ = row.ParseZone(c.Timezone)
	}
	switch c.Type {
	case columnDate:
		f.Kind = row.Date
	case columnDecimal:
		f.Kind = row.Decimal
	case columnBool:
		f.Kind = row.Bool
	case columnSeconds:
		f.Unit = time.Second
	case columnMillis:
		f.Unit = time.Millisecond
	}
	return f
}

// Forms returns the forms of the declared columns, by name.
func (p *Probe) Forms() map[string]row.Form {
	forms := make(map[string]row.Form, len(p.Columns))
	for name, c := range p.Columns {
		forms[name] = c.Form()
	}
	return forms
}

// Statement parses the probe's SQL. A built-in time that the SQL compares with a declared column gets the form of the
// column.
func (p *Probe) Statement() (*probe.Statement, []probe.Fault) {
	stmt, faults := probe.Parse(p.SQL)
	if len(faults) > 0 {
		return nil, faults
	}
	if stmt, faults = stmt.Declare(sortedKeys(p.Columns)); len(faults) > 0 {
		return nil, faults
	}
	return stmt, nil
}

// columnForms checks the declared columns against the rule and its SQL. declare checks the declared columns against the
// database's columns.
func (v *validator) columnForms(stmt *probe.Statement) {
	for _, name := range sortedKeys(v.r.Probe.Columns) {
		c, path := v.r.Probe.Columns[name], "probe.columns."+name
		if c.Type == "" && v.has(path+".type") {
			continue // the type is unknown, and decoding has reported that
		}
		for field, use := range map[string]struct {
			value string
			types []string
		}{"format": {c.Format, []string{columnTime, columnDate}}, "timezone": {c.Timezone, []string{columnTime}}} {
			if use.value != "" && c.Type != "" && !slices.Contains(use.types, c.Type) {
				v.fail(path+"."+field, CodeColumnForm, fmt.Sprintf("%s cannot be used for a column of type %s", field, c.Type), "remove it")
			}
		}
		_, err := row.ParseZone(c.Timezone)
		switch {
		case c.Type == "":
			v.fail(path, strictyaml.CodeMissing, path+".type is missing", "time, date, decimal, bool, unix_seconds or unix_milliseconds")
		case c.Timezone != "" && err != nil:
			v.fail(path+".timezone", CodeBadTimezone, err.Error(), `an IANA name such as Asia/Shanghai, UTC, or an offset such as "+08:00"`)
		case c.Format == "" && (c.Type == columnDate || c.Type == columnTime && c.Timezone == ""):
			v.fail(path, strictyaml.CodeMissing, path+".format is missing", formatHint)
		case c.Format != "" && (c.Type == columnTime || c.Type == columnDate) && !namesDay(c):
			v.fail(path+".format", CodeColumnForm, fmt.Sprintf("no %[2]s can be read from the format %[1]q", c.Format, c.Type), formatHint)
		case !c.Form().Sorts() && v.compares(stmt, name, c):
			v.fail(path, CodeColumnForm, fmt.Sprintf("the column %q is compared with a time or a watermark, but in this form a later value can be smaller", name),
				"in the SQL, make a column of an expression that grows, and compare that column")
		}
	}
}

const formatHint = `how the column writes the time 2006-01-02 15:04:05, for example "2006-01-02T15:04:05Z"; write .999 if the column leaves out trailing zeros of a fraction, else .000`

// namesDay tells whether the format holds enough to read a value back: the day and, for a time, hours and minutes.
func namesDay(c Column) bool {
	at := time.Date(2031, 10, 28, 22, 47, 0, 0, time.UTC)
	read, err := time.Parse(c.Format, at.Format(c.Format))
	if c.Type == columnDate {
		at = at.Truncate(24 * time.Hour)
		read = read.Truncate(24 * time.Hour)
	}
	return err == nil && read.Equal(at)
}

// compares tells whether the SQL compares the column with a built-in time or with the column's watermark. The watermark
// of a decimal does not count: the database orders numbers, and declare refuses texts.
func (v *validator) compares(stmt *probe.Statement, column string, c Column) bool {
	return stmt != nil && slices.ContainsFunc(stmt.Params, func(param string) bool {
		_, form, _ := probe.Formed(param)
		return form == column || param == watermarkPrefix+column && c.Type != columnDecimal
	})
}

// declare gives each declared column the kind that the rule declares, where the column can hold that kind.
func (c *compiler) declare() {
	c.columns = slices.Clone(c.columns)
	for _, name := range sortedKeys(c.r.Probe.Columns) {
		i, path, form := row.Index(c.columns, name), "probe.columns."+name, c.r.Probe.Columns[name].Form()
		if i < 0 {
			c.fail(path, CodeUnknownColumn, fmt.Sprintf("the probe returns no column %q", name), c.nearColumn(name))
			continue
		}
		if c.columns[i].Declared {
			continue // the scanner already reads the column in this form
		}
		if err := form.Fit(c.columns[i]); err != nil {
			c.fail(path, CodeColumnForm, fmt.Sprintf("the column %q %v", name, err), "have the probe CAST the column, or remove the declaration")
			continue
		}
		if w := c.r.Probe.Watermark; form.Kind == row.Decimal && c.columns[i].Kind == row.Text && w != nil && slices.Contains(w.Columns, name) {
			c.fail(path, CodeColumnForm, fmt.Sprintf("the column %q is a text, in which \"9\" is above \"10\": it cannot be a watermark", name), "have the probe CAST the column to a number")
		}
		c.columns[i].Kind = form.Kind
	}
}
