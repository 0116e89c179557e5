// Command reference writes the tables of the documentation that come from the code: the operators and functions of conditions and the
// helpers of templates (docs/reference/rule-file.md), and the settings of sinks (docs/how-to/channels.md). It reads a page from standard input and writes it to
// standard output; what stands between the markers is replaced. It knows no text of its own: each package declares what the tables say.
package main

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"tallyman/internal/app"
	"tallyman/rules/condition"
	"tallyman/rules/message"
	"tallyman/rules/row"
	"tallyman/rules/strictyaml"
	"tallyman/sinks"
)

func main() {
	page, err := io.ReadAll(os.Stdin)
	if err == nil {
		_, err = io.WriteString(os.Stdout, write(string(page)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // a command of its own, for make generate
	}
}

var section = regexp.MustCompile(`(?s)(<!-- generated: (\w+) -->\n).*?(<!-- end -->)`)

// write replaces the sections of the page.
func write(page string) string {
	return section.ReplaceAllStringFunc(page, func(s string) string {
		m := section.FindStringSubmatch(s)
		return m[1] + "\n" + sections[m[2]]() + "\n" + m[3]
	})
}

var sections = map[string]func() string{
	"row":        exampleTable,
	"rows":       exampleRowsTable,
	"precedence": precedence,
	"functions":  functions,
	"helpers":    helpers,
	"sinks":      sinkSettings,
}

// table writes a table of Markdown.
func table(heading []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	line(heading)
	rule := make([]string, len(heading))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, r := range rows {
		line(r)
	}
	return b.String()
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func functions() string {
	var b strings.Builder
	for i, c := range condition.Reference() {
		if i > 0 {
			b.WriteString("\n")
		}
		var rows [][]string
		for _, e := range c.Entries {
			rows = append(rows, []string{code(e.Signature), e.Meaning, code(e.Example), code(e.Gives)})
		}
		b.WriteString("#### " + c.Title + "\n\n" + table([]string{"written", "meaning", "example", "gives"}, rows))
	}
	return b.String()
}

func helpers() string {
	var rows [][]string
	for _, h := range message.Reference() {
		rows = append(rows, []string{code(h.Name), h.Meaning, code(h.Example), code(h.Gives)})
	}
	return table([]string{"helper", "meaning", "example", "gives"}, rows)
}

func precedence() string {
	var levels []string
	for _, group := range condition.Precedence() {
		for i, name := range group {
			group[i] = code(name)
		}
		levels = append(levels, strings.Join(group, " "))
	}
	return strings.Join(levels, " < ") + "\n"
}

func exampleTable() string {
	r := exampleRow()
	var rows [][]string
	for i, c := range r.Columns {
		value := "NULL"
		if !r.Values[i].IsNull() {
			value = code(r.Values[i].String())
		}
		rows = append(rows, []string{code(c.Name), c.Kind.String(), value})
	}
	return table([]string{"column", "kind", "value"}, rows)
}

func exampleRowsTable() string {
	var heading []string
	var rows [][]string
	for _, r := range exampleRows() {
		heading = nil
		var cells []string
		for i, c := range r.Columns {
			heading = append(heading, code(c.Name)+" "+c.Kind.String())
			cells = append(cells, code(r.Values[i].String()))
		}
		rows = append(rows, cells)
	}
	return table(heading, rows)
}

// sinkSettings has a table of what every push channel has, and one for each type of what it has beside that.
func sinkSettings() string {
	common := sinks.NewPushSettings("")
	shared := settingRows("", reflect.ValueOf(common))
	var text strings.Builder
	text.WriteString("### Every push channel\n\n" + settingTable(shared))
	for _, t := range app.Types().Sinks {
		own := slices.DeleteFunc(settingRows("", reflect.ValueOf(t.New()).Elem()), func(row []string) bool {
			return slices.ContainsFunc(shared, func(s []string) bool { return s[0] == row[0] })
		})
		text.WriteString("\n### " + t.Name + "\n\n" + settingTable(own))
	}
	return text.String()
}

func settingTable(rows [][]string) string {
	return table([]string{"setting", "takes", "default", "meaning"}, rows)
}

// settingRows are the settings of a struct, as its tags tell of them; those of a struct inside come behind its own row.
func settingRows(prefix string, v reflect.Value) [][]string {
	var rows [][]string
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" {
			continue
		}
		value := v.FieldByIndex(f.Index)
		initial := written(value)
		if prefix+name == "type" {
			initial = ""
		}
		rows = append(rows, []string{code(prefix + name), takes(f.Tag), code(initial), f.Tag.Get("doc")})
		if value.Kind() == reflect.Pointer && value.Type().Elem().Kind() == reflect.Struct { // not there by default
			value = reflect.New(value.Type().Elem())
			if d, ok := reflect.TypeAssert[strictyaml.Defaulter](value); ok {
				d.SetDefaults()
			}
			value = value.Elem()
		}
		if value.Kind() == reflect.Struct {
			rows = append(rows, settingRows(prefix+name+".", value)...)
		}
	}
	return rows
}

// takes says what a setting may be, as far as its tags bound it.
func takes(tag reflect.StructTag) string {
	low, high := tag.Get("min"), tag.Get("max")
	switch {
	case tag.Get("enum") != "":
		return code(strings.ReplaceAll(tag.Get("enum"), ",", "` `"))
	case low != "" && high != "":
		return low + " to " + high
	case low != "":
		return "at least " + low
	case high != "":
		return "at most " + high
	}
	return ""
}

// written is a default as the configuration has it.
func written(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		return strictyaml.FormatDuration(x)
	case []time.Duration:
		list := make([]string, len(x))
		for i, d := range x {
			list[i] = strictyaml.FormatDuration(d)
		}
		return "[" + strings.Join(list, ", ") + "]"
	case bool:
		return fmt.Sprint(x)
	case int:
		return strings.TrimPrefix(fmt.Sprint(x), "0")
	case fmt.Stringer:
		return x.String()
	}
	if v.Kind() == reflect.String {
		return v.String()
	}
	return ""
}

// exampleNow is what now() returns in the examples.
func exampleNow() time.Time { return time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC) }

// exampleRow is the row that the examples are over.
func exampleRow() *row.Row {
	return &row.Row{
		Columns: []row.Column{
			{Name: "sku", Kind: row.Text},
			{Name: "zone", Kind: row.Text},
			{Name: "qty", Kind: row.Decimal},
			{Name: "price", Kind: row.Decimal},
			{Name: "lines", Kind: row.Int},
			{Name: "ratio", Kind: row.Float},
			{Name: "held", Kind: row.Bool},
			{Name: "wave_no", Kind: row.Int},
			{Name: "released_at", Kind: row.Time},
			{Name: "doc", Kind: row.JSON},
		},
		Values: []row.Value{
			row.TextOf("TEST-42"), row.TextOf("A"), row.DecimalOf(-350, 2), row.DecimalOf(1990, 2),
			row.IntOf(4), row.FloatOf(0.25), row.BoolOf(false),
			{},
			row.TimeOf(time.Date(2026, 5, 30, 22, 15, 0, 0, time.UTC)), row.JSONOf(`{"wave": 77, "lines": [{"sku": "A"}]}`),
		},
	}
}

// exampleRows is the result that the examples with rows are over.
func exampleRows() []*row.Row {
	columns := []row.Column{{Name: "sku", Kind: row.Text}, {Name: "qty", Kind: row.Decimal}}
	var rows []*row.Row
	for _, r := range []struct {
		sku        string
		hundredths int64
	}{{"A", 150}, {"B", -300}, {"A", 700}} {
		rows = append(rows, &row.Row{Columns: columns, Values: []row.Value{row.TextOf(r.sku), row.DecimalOf(r.hundredths, 2)}})
	}
	return rows
}
