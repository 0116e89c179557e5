package message

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"time"
	"unicode/utf8"

	"tallyman/internal/notice"
	"tallyman/rules/problem"
	"tallyman/rules/row"
)

// MaxSize is the most bytes of a template, and of a rendered text. A longer rendered text is cut and ends in "…".
const MaxSize = notice.MaxText

// The codes of this package's problems.
const (
	CodeSyntax   = "template_syntax"
	CodeFunction = "template_function"
	CodeKind     = "template_kind"
	CodeRange    = "template_range"
	CodeColumn   = "unknown_column"
)

// Fault is one problem of a template.
type Fault struct {
	Offset  int // In characters from the start of the template.
	Code    string
	Message string
	Hint    string
}

// The names that a template over rows has besides columns.
const (
	nameRows     = "rows"
	nameRowCount = "row_count"
)

// Template is a parsed template without faults.
type Template struct {
	src  string
	rows bool // The template is over the rows of a group or result.
	tree *parse.Tree
	refs []ref
}

// ref is a place where the template names a column.
type ref struct {
	name string
	at   parse.Pos
	each bool // The column belongs to a row of a range.
}

// Outside returns a fault for each column that a template over rows may not name outside of range. Outside of range the
// template may name only the columns in common, because all rows have the same value there.
func (t *Template) Outside(common []string) []Fault {
	var faults []Fault
	for _, r := range t.refs {
		if t.rows && !r.each && !slices.Contains(common, r.name) {
			faults = append(faults, t.outsideFault(r, common))
		}
	}
	return faults
}

// Columns returns the columns that the template names, in order of appearance.
func (t *Template) Columns() []string {
	names := make([]string, len(t.refs))
	for i, r := range t.refs {
		names[i] = r.name
	}
	return names
}

// Bound is a template that is bound to the columns of a probe. It is not safe for concurrent use.
type Bound struct {
	rows     bool    // As in Template.
	pieces   []piece // The template as pieces, where it only puts columns between words. nil where it has logic.
	tree     *parse.Tree
	zone     *time.Location
	template *template.Template
	columns  []int          // The columns that the template names outside of range.
	each     []int          // The columns that the template names for the rows of a range.
	perRow   int            // The work that a row of a range costs.
	data     map[string]any // The values that the template sees outside of range.
	row      map[string]any // The present row of the range. All rows use the same map.
	out      limitedText
}

// piece is a text and the column that follows it. The column is -1 at the end.
type piece struct {
	words  string
	column int
}

// Bind checks the template against the columns. Rendering writes dates in the zone.
func (t *Template) Bind(columns []row.Column, zone *time.Location) (*Bound, []Fault) {
	return t.bind(columns, columns, zone)
}

// BindRows is Bind for a template over rows. Outside of range, the template may name only the columns in common, whose
// values are the same for all rows.
func (t *Template) BindRows(columns []row.Column, common []string, zone *time.Location) (*Bound, []Fault) {
	visible := slices.DeleteFunc(slices.Clone(columns), func(c row.Column) bool { return !slices.Contains(common, c.Name) })
	return t.bind(columns, visible, zone)
}

// BindFields is Bind for a template of a type, which sees the fields of the notice.
func (t *Template) BindFields(fields []row.Column, zone *time.Location) (*Bound, []Fault) {
	for _, r := range t.refs {
		if row.Index(fields, r.name) < 0 {
			return nil, []Fault{t.unknownField(r, namesOf(fields))}
		}
	}
	return t.bind(fields, fields, zone)
}

func (t *Template) unknownField(r ref, names []string) Fault {
	fault := Fault{Offset: t.chars(r.at), Code: CodeColumn, Message: fmt.Sprintf("the type has no field %q", r.name), Hint: problem.Nearest(r.name, names, "fields")}
	if len(names) == 0 {
		fault.Hint = "the texts of a type can only use its fields, and the type has none"
	}
	return fault
}

func (t *Template) bind(columns, visible []row.Column, zone *time.Location) (*Bound, []Fault) {
	b := &Bound{rows: t.rows, tree: t.tree, zone: zone}
	var faults []Fault
	for _, r := range t.refs {
		switch i := row.Index(columns, r.name); {
		case t.rows && !r.each && row.Index(visible, r.name) < 0:
			faults = append(faults, t.outsideFault(r, namesOf(visible)))
		case i < 0:
			faults = append(faults, t.unknownColumn(r, columns))
		case r.each:
			b.each = append(b.each, i)
		default:
			b.columns = append(b.columns, i)
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	if faults := t.rehearse(columns, b); len(faults) > 0 {
		return nil, faults
	}
	if !t.rows {
		b.pieces = pieces(t.tree.Root, columns)
	}
	b.prepare(t.tree)
	return b, nil
}

// prepare makes the parts of the Bound that rendering changes.
func (b *Bound) prepare(tree *parse.Tree) {
	b.data, b.row = map[string]any{}, map[string]any{}
	b.perRow = nodeWork * (1 + ranged(tree.Root, false))
	b.template = executable(tree, b.zone, &b.out)
}

// pieces cuts a template without logic into pieces, and returns nil for a template with logic. Most templates have no
// logic, and joining pieces is much faster than executing a template for each row.
func pieces(l *parse.ListNode, columns []row.Column) []piece {
	all := []piece{}
	words := ""
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			words += string(n.Text)
		case *parse.ActionNode:
			if len(n.Pipe.Cmds) != 1 || len(n.Pipe.Decl) != 0 || len(n.Pipe.Cmds[0].Args) != 1 {
				return nil
			}
			f, ok := n.Pipe.Cmds[0].Args[0].(*parse.FieldNode)
			if !ok {
				return nil
			}
			all = append(all, piece{words, row.Index(columns, f.Ident[0])})
			words = ""
		default:
			return nil
		}
	}
	return append(all, piece{words, -1})
}

// executable makes an executable template from a tree that walk has checked.
func executable(tree *parse.Tree, zone *time.Location, out *limitedText) *template.Template {
	made, err := template.New(tree.Name).Option("missingkey=error").Funcs(functions(zone, out)).AddParseTree(tree.Name, tree)
	if err != nil {
		panic("message: " + err.Error()) // AddParseTree fails only for a template that was executed before
	}
	return made
}

// Clone returns a Bound for another goroutine.
func (b *Bound) Clone() *Bound {
	c := *b
	c.out = limitedText{}
	c.prepare(b.tree)
	return &c
}

const rootName = "text"

// Parse reads a template. It reports all faults that show without the columns.
func Parse(src string) (*Template, []Fault) { return read(src, false) }

// ParseRows is Parse for a template over the rows of a group or a result. Such a template has .rows for range, and
// .row_count.
func ParseRows(src string) (*Template, []Fault) { return read(src, true) }

func read(src string, rows bool) (*Template, []Fault) {
	if len(src) > MaxSize {
		return nil, []Fault{{Code: CodeSyntax, Message: fmt.Sprintf("the text has %d bytes, at most %d are allowed", len(src), MaxSize)}}
	}
	t := &Template{src: src, rows: rows, tree: parse.New(rootName)}
	t.tree.Mode = parse.SkipFuncCheck // walk reports unknown helpers with their places
	trees := map[string]*parse.Tree{}
	if _, err := t.tree.Parse(src, "", "", trees); err != nil {
		return nil, []Fault{t.syntaxFault(err)}
	}
	w := &walk{t: t}
	if len(trees) > 1 || len(trees) == 1 && trees[rootName] == nil {
		w.fault(parse.Pos(max(strings.Index(src, "define"), strings.Index(src, "block"), 0)), CodeFunction,
			"a text cannot define templates", "write it out where it is needed")
	}
	w.list(t.tree.Root, dotTop)
	return t, w.faults
}

var (
	parseError = regexp.MustCompile(`(?s)^template: ` + rootName + `:(\d+):(?:(\d+):)? (.*)$`)
	startedAt  = regexp.MustCompile(`started at ` + rootName + `:(\d+)`)
	quoted     = regexp.MustCompile(`["<]([^">]+)[">]`)
)

// syntaxFault makes a fault of a parser error, and finds its column, since the parser often names only the line.
func (t *Template) syntaxFault(err error) Fault {
	m := parseError.FindStringSubmatch(err.Error())
	if m == nil {
		return Fault{Code: CodeSyntax, Message: err.Error()}
	}
	line, _ := strconv.Atoi(m[1]) // the pattern matches digits only
	message := m[3]
	hint := ""
	if s := startedAt.FindStringSubmatch(message); s != nil {
		line, _ = strconv.Atoi(s[1]) // the pattern matches digits only
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

// lineStart returns the offset at which a line begins. Lines count from 1.
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

// chars converts an offset of the parser, in bytes, to an offset in characters.
func (t *Template) chars(at parse.Pos) int {
	return utf8.RuneCountInString(t.src[:min(max(int(at), 0), len(t.src))])
}

func (t *Template) unknownColumn(r ref, columns []row.Column) Fault {
	fault := Fault{Offset: t.chars(r.at), Code: CodeColumn, Message: fmt.Sprintf("the probe returns no column %q", r.name)}
	names := namesOf(columns)
	switch {
	case !t.rows && (r.name == nameRows || r.name == nameRowCount):
		fault.Hint = "only rules with group_by or per: result have ." + r.name
	case problem.DidYouMean(r.name, names) != "":
		fault.Hint = problem.DidYouMean(r.name, names)
	default:
		fault.Hint = "columns: " + strings.Join(names, ", ")
	}
	return fault
}

// outsideFault makes the fault of a name that may not stand outside of range.
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
