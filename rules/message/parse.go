package message

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
	"unicode/utf8"

	"tallyman/rules/problem"
	"tallyman/rules/row"
)

const rootName = "text"

// Parse reads a template and reports all that is wrong with it, as far as can be told without the columns.
func Parse(src string) (*Template, []Fault) { return read(src, false) }

// ParseRows is Parse for a text about several rows, those of a group or of a result: it has .rows to range over and
// .row_count.
func ParseRows(src string) (*Template, []Fault) { return read(src, true) }

func read(src string, rows bool) (*Template, []Fault) {
	if len(src) > MaxSize {
		return nil, []Fault{{Code: CodeSyntax, Message: fmt.Sprintf("the text has %d bytes, at most %d are allowed", len(src), MaxSize)}}
	}
	t := &Template{src: src, rows: rows, tree: parse.New(rootName)}
	t.tree.Mode = parse.SkipFuncCheck // the walk knows where they stand
	trees := map[string]*parse.Tree{}
	if _, err := t.tree.Parse(src, "", "", trees); err != nil {
		return nil, []Fault{t.syntaxFault(err)}
	}
	w := &walk{t: t}
	if len(trees) > 1 || len(trees) == 1 && trees[rootName] == nil {
		w.fault(parse.Pos(max(strings.Index(src, "define"), strings.Index(src, "block"), 0)), CodeFunction,
			"a text defines no templates", "write it out where it is needed")
	}
	w.list(t.tree.Root, dotTop)
	return t, w.faults
}

var (
	parseError = regexp.MustCompile(`(?s)^template: ` + rootName + `:(\d+):(?:(\d+):)? (.*)$`)
	startedAt  = regexp.MustCompile(`started at ` + rootName + `:(\d+)`)
	quoted     = regexp.MustCompile(`["<]([^">]+)[">]`)
)

// syntaxFault finds the place that the parser names by its line only.
func (t *Template) syntaxFault(err error) Fault {
	m := parseError.FindStringSubmatch(err.Error())
	if m == nil {
		return Fault{Code: CodeSyntax, Message: err.Error()}
	}
	line, _ := strconv.Atoi(m[1]) // digits, as matched
	message := m[3]
	hint := ""
	if s := startedAt.FindStringSubmatch(message); s != nil {
		line, _ = strconv.Atoi(s[1]) // digits, as matched
		message = strings.TrimSuffix(startedAt.ReplaceAllString(message, ""), " ")
		hint = "close it with }}"
	}
	if strings.Contains(message, "unexpected EOF") {
		message, hint = "the text ends inside an if, with or range", "close it with {{ end }}"
	}
	from := lineStart(t.src, line)
	to := len(t.src)
	if i := strings.IndexByte(t.src[from:], '\n'); i >= 0 {
		to = from + i
	}
	at := from
	if open := strings.LastIndex(t.src[:to], "{{"); open >= 0 {
		at = open
	}
	if q := quoted.FindStringSubmatch(message); q != nil {
		if i := strings.LastIndex(t.src[from:to], q[1]); i >= 0 {
			at = from + i
		}
	}
	return Fault{Offset: t.chars(parse.Pos(at)), Code: CodeSyntax, Message: message, Hint: hint}
}

// lineStart is the offset at which a line, counted from 1, begins.
func lineStart(s string, line int) int {
	at := 0
	for range line - 1 {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	return at
}

// chars turns the parser's bytes into characters.
func (t *Template) chars(at parse.Pos) int {
	return utf8.RuneCountInString(t.src[:min(max(int(at), 0), len(t.src))])
}

func (t *Template) unknownColumn(r ref, columns []row.Column) Fault {
	fault := Fault{Offset: t.chars(r.at), Code: CodeColumn, Message: fmt.Sprintf("the probe returns no column %q", r.name)}
	names := namesOf(columns)
	switch {
	case !t.rows && (r.name == nameRows || r.name == nameRowCount):
		fault.Hint = "it belongs to group_by and per: result"
	case problem.DidYouMean(r.name, names) != "":
		fault.Hint = problem.DidYouMean(r.name, names)
	default:
		fault.Hint = "columns: " + strings.Join(names, ", ")
	}
	return fault
}

// outsideFault is that of a name outside of range, where only the columns that all rows have in common stand.
func (t *Template) outsideFault(r ref, common []string) Fault {
	there := append(slices.Clone(common), nameRowCount)
	fault := Fault{
		Offset: t.chars(r.at), Code: CodeColumn, Message: fmt.Sprintf("there is no %q outside of range", r.name),
		Hint: problem.DidYouMean(r.name, there),
	}
	if fault.Hint == "" {
		fault.Message = fmt.Sprintf("the column %q differs from row to row", r.name)
		fault.Hint = "write {{ range .rows }}{{ ." + r.name + " }}{{ end }}; outside of range there is " + strings.Join(there, ", ")
	}
	return fault
}

func namesOf(columns []row.Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}
