package authoring

import (
	"bytes"
	_ "embed"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"tallyman/rules/row"
)

var (
	//go:embed rulenew.yaml.tmpl
	ruleText string
	//go:embed rulenew_test.yaml.tmpl
	ruleTestText string
)

// mostSelected is the most columns of a new probe. The columns that the rule and its key need are always among them.
const mostSelected = 12

// Text returns the rule's file. schema is the path from the file to the JSON Schema.
func (r *NewRule) Text(schema string) ([]byte, error) {
	var fields []NewField
	for _, f := range r.Fields {
		if f.Expr != "" {
			fields = append(fields, f)
		}
	}
	return fill(ruleText, map[string]any{
		"Rule": r, "Schema": schema, "Fields": fields, "Select": r.selectList(), "When": r.whenExample(),
		"Warehouse": scalar(r.Warehouse), "NoticeTitle": r.noticeTitle(), "Body": r.body(),
	})
}

// TestText returns a first test of the rule. The paths are relative to the test.
func (r *NewRule) TestText(file, testFile, types string) ([]byte, error) {
	var kinds, values []string
	for _, c := range r.selected() {
		kinds = append(kinds, c.Name+": "+c.Kind.String())
		values = append(values, c.Name+": "+sampleValue(c.Kind))
	}
	return fill(ruleTestText, map[string]any{
		"Rule": r, "File": filepath.ToSlash(file), "TestFile": testFile, "Types": filepath.ToSlash(types),
		"Kinds": strings.Join(kinds, ", "), "Row": strings.Join(values, ", "),
	})
}

func fill(text string, data map[string]any) ([]byte, error) {
	t, err := template.New("rule").Delims("<%", "%>").Funcs(template.FuncMap{
		"quote": strconv.Quote, "scalar": scalar, "join": func(list []string) string { return strings.Join(list, ", ") },
	}).Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, data)
	return b.Bytes(), err
}

var plainScalar = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// scalar writes an expression as YAML.
func scalar(expr string) string {
	if plainScalar.MatchString(expr) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, expr) {
		return expr
	}
	return strconv.Quote(expr)
}

// selected returns the columns of the probe: the columns that the rule names, and other columns up to mostSelected.
func (r *NewRule) selected() []NewColumn {
	word := regexp.MustCompile(`\w+`)
	named := slices.Concat(r.Key, word.FindAllString(r.Warehouse, -1), word.FindAllString(strings.ToLower(r.Where), -1))
	for _, f := range r.Fields {
		named = append(named, word.FindAllString(f.Expr, -1)...)
	}
	room := mostSelected
	for _, c := range r.Columns {
		if slices.Contains(named, c.Name) {
			room--
		}
	}
	var list []NewColumn
	for _, c := range r.Columns {
		if slices.Contains(named, c.Name) {
			list = append(list, c)
		} else if room > 0 && c.Kind != row.JSON {
			list = append(list, c)
			room--
		}
	}
	return list
}

func (r *NewRule) selectList() string {
	var list []string
	for _, c := range r.selected() {
		// No alias where the name is the same in lower case. Without quotes, an alias such as order would be a keyword.
		if strings.ToLower(strings.Trim(c.Written, `"`)) == c.Name {
			list = append(list, c.Written)
		} else {
			list = append(list, c.Written+" AS "+c.Name)
		}
	}
	return strings.Join(list, ", ")
}

// shown returns the columns that people want to read: the key without the warehouse, and the quantity.
func (r *NewRule) shown() (names []string, quantity string) {
	for _, name := range r.Key {
		if name != r.Warehouse {
			names = append(names, name)
		}
	}
	if c := r.like(quantityNames, row.Int, row.Decimal, row.Float); c != nil && !slices.Contains(names, c.Name) {
		quantity = c.Name
	}
	return names, quantity
}

func (r *NewRule) noticeTitle() string {
	names, quantity := r.shown()
	title, colon, isAt := r.Title, ": ", " is at "
	if r.Language == "zh" {
		title, colon, isAt = bare(r.Table)+" 需要处理", "：", " 为 "
	}
	if len(names) > 0 {
		title += colon + "{{ ." + strings.Join(names, " }} {{ .") + " }}"
	}
	if quantity != "" {
		title += isAt + "{{ ." + quantity + " }}"
	}
	return title
}

func (r *NewRule) body() string {
	var parts []string
	for _, c := range r.selected() {
		if c.Name == r.Warehouse {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s {{ .%s }}", strings.ReplaceAll(c.Name, "_", " "), c.Name))
	}
	return strings.Join(parts[:min(len(parts), 6)], ", ")
}

// whenExample returns a condition over the rule's own columns, for a comment in the file.
func (r *NewRule) whenExample() string {
	selected := r.selected()
	for _, c := range selected {
		if c.Kind.IsNumber() && !slices.Contains(r.Key, c.Name) {
			return c.Name + " < -10"
		}
	}
	return selected[0].Name + " != nil"
}

// sampleValue returns a value of the kind, for a test.
func sampleValue(k row.Kind) string {
	switch k {
	case row.Int:
		return "1"
	case row.Float, row.Decimal:
		return `"-1"`
	case row.Bool:
		return "true"
	case row.Time:
		return "2026-06-01T07:00:00Z"
	case row.Date:
		return "2026-06-01"
	case row.Duration:
		return "1h"
	case row.JSON:
		return "null"
	default:
		return "A1"
	}
}
