package rules

import (
	"fmt"
	"slices"
	"time"

	"tallyman/rules/probe"
	"tallyman/rules/row"
	"tallyman/rules/strictyaml"
)

// Column says what a column of the probe holds, where that is something else than the database says: a time in a text.
type Column struct {
	Type     string
	Format   string `json:",omitempty"` // of time and date: the reference time as the column would write it
	Timezone string `json:",omitempty"` // of time
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

// Form is how the column writes its values. The rule was validated.
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

// Forms are the forms of the columns that the rule declares.
func (p *Probe) Forms() map[string]row.Form {
	forms := make(map[string]row.Form, len(p.Columns))
	for name, c := range p.Columns {
		forms[name] = c.Form()
	}
	return forms
}

// Statement reads the probe's SQL. Built-in times that are compared with declared columns have their forms.
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

// columnForms checks the declared columns by themselves.
func (v *validator) columnForms(stmt *probe.Statement) {
	for _, name := range sortedKeys(v.r.Probe.Columns) {
		c, path := v.r.Probe.Columns[name], "probe.columns."+name
		if c.Type == "" && v.has(path+".type") {
			continue // it is none, which decoding has said
		}
		for field, use := range map[string]struct {
			value string
			types []string
		}{"format": {c.Format, []string{columnTime, columnDate}}, "timezone": {c.Timezone, []string{columnTime}}} {
			if use.value != "" && c.Type != "" && !slices.Contains(use.types, c.Type) {
				v.fail(path+"."+field, CodeColumnForm, fmt.Sprintf("%s means nothing for a column of type %s", field, c.Type), "remove it")
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
			v.fail(path+".format", CodeColumnForm, fmt.Sprintf("the format %q does not show which %s it is", c.Format, c.Type), formatHint)
		case !c.Form().Sorts() && v.compares(stmt, name):
			v.fail(path, CodeColumnForm, fmt.Sprintf("the column %q is compared with a time or a watermark, but in this form a later value can be smaller", name),
				"in the SQL, make a column of an expression that grows, and compare that column")
		}
	}
}

const formatHint = `how the column writes the time 2006-01-02 15:04:05, for example "2006-01-02T15:04:05Z"; a fraction is .999 where zeros are left out, .000 where not`

// namesDay tells whether a day, and for a time its seconds or minutes, can be read from what the format writes.
func namesDay(c Column) bool {
	at := time.Date(2031, 10, 28, 22, 47, 0, 0, time.UTC)
	read, err := time.Parse(c.Format, at.Format(c.Format))
	if c.Type == columnDate {
		at = at.Truncate(24 * time.Hour)
		read = read.Truncate(24 * time.Hour)
	}
	return err == nil && read.Equal(at)
}

// compares tells whether the SQL compares the column with a built-in time, or with its watermark.
func (v *validator) compares(stmt *probe.Statement, column string) bool {
	return stmt != nil && slices.ContainsFunc(stmt.Params, func(param string) bool {
		_, form, _ := probe.Formed(param)
		return form == column || param == watermarkPrefix+column
	})
}

// declare gives the columns that the rule declares their kinds.
func (c *compiler) declare() {
	c.columns = slices.Clone(c.columns)
	for _, name := range sortedKeys(c.r.Probe.Columns) {
		i, path, form := row.Index(c.columns, name), "probe.columns."+name, c.r.Probe.Columns[name].Form()
		if i < 0 {
			c.fail(path, CodeUnknownColumn, fmt.Sprintf("the probe returns no column %q", name), c.nearColumn(name))
			continue
		}
		if c.columns[i].Declared {
			continue // the probe reads it so
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
