package rules

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"sync"
	"time"
	"unsafe"

	"tallyman/rules/catalog"
	"tallyman/rules/condition"
	"tallyman/rules/message"
	"tallyman/rules/row"
)

// Program is a rule compiled against the columns of its prepared probe. It is not safe for concurrent use. Each run
// gets a program for itself with Borrow.
type Program struct {
	rule        *Rule
	typ         catalog.Type
	when        *condition.Program
	warehouse   *condition.Program // nil: the scope's name is the warehouse
	priority    *condition.Program // nil: fixed is the priority
	order       *condition.Program // nil: fixedOrder is the order
	fixedOrder  string
	fixed       int
	key         []int // positions of columns; so are group, watched and watermark
	group       []int // nil: the rule does not group
	split       int   // position of a column; 0 without split_by
	watched     []int // the columns of notify_again_on; nil: none
	watchedName string
	watermark   []int
	initial     []initialValue
	kinds       []row.Kind // of the watermark's columns
	fields      []dataField
	words       ruleWords
	deliver     []entry        // nil: no entry of deliver has an expression
	everywhere  []AppliedEntry // all entries of deliver, for notices to which each entry applies
	buf         []byte         // reused for the keys of rows
	spare       *sync.Pool     // clones for Borrow; a program and its clones share one pool
}

// ruleWords holds the templates of title and body. Where the rule has no title or body, it holds the type's templates.
type ruleWords struct {
	message.Words
	typeTitle, typeBody bool         // The text comes from the type, so its template sees the fields and not the rows.
	fields              []row.Column // The fields of the type.
}

// dataField is a field of a notice, and the expression that gives its value.
type dataField struct {
	name     string
	column   int // The position among the fields of the type.
	kind     catalog.FieldKind
	required bool
	value    *condition.Program
}

// Text is the title and body of a notice in one language.
type Text = message.Text

// NoticeDraft is the part of a notice that comes from the rule file. It is about a row, a group or a result.
type NoticeDraft struct {
	Type      catalog.Type
	Warehouse string
	Priority  int    // 1 (low) … 5 (high)
	Order     string // As item.ServiceOrder writes it. Empty means no order.
	Modal     Modal
	Texts     map[string]Text // By language. The key "" is always present.
	Fields    []Field         // Sorted by name, as in the catalogue.
	Expires   time.Duration   // How long the notice lives.
	Deliver   []AppliedEntry  // The entries of deliver that apply. Drafts share the slice, so nobody may change it.
}

// Size returns about how many bytes the draft takes.
func (d *NoticeDraft) Size() int {
	size := int(unsafe.Sizeof(*d)) + len(d.Warehouse)
	for _, t := range d.Texts {
		size += int(unsafe.Sizeof(t)) + len(t.Title) + len(t.Body)
	}
	for i := range d.Fields {
		size += int(unsafe.Sizeof(d.Fields[i])) + d.Fields[i].Value.Size()
	}
	return size
}

// Field is one field of a notice. Its value is NULL, or has the kind that the catalogue asks for: Text, Int, Decimal,
// Bool or Time.
type Field struct {
	Name  string
	Value row.Value // A clone, so it stays valid after the scan.
}

// Clone returns a Program for another goroutine.
func (p *Program) Clone() *Program {
	c := *p
	c.buf = nil
	c.when = p.when.Clone()
	if p.warehouse != nil {
		c.warehouse = p.warehouse.Clone()
	}
	if p.priority != nil {
		c.priority = p.priority.Clone()
	}
	if p.order != nil {
		c.order = p.order.Clone()
	}
	c.fields = make([]dataField, len(p.fields))
	for i, f := range p.fields {
		f.value = f.value.Clone()
		c.fields[i] = f
	}
	c.words.Words = p.words.Clone()
	c.deliver = slices.Clone(p.deliver)
	for i, e := range p.deliver {
		if e.when != nil {
			c.deliver[i].when = e.when.Clone()
		}
		if e.at != nil {
			c.deliver[i].at = e.at.Clone()
		}
	}
	return &c
}

// Borrow returns a program for r, a scope of the same rule that differs only in its name and parameters. The caller has
// the program alone until Return. Borrow costs less than Clone, because it reuses returned programs.
func (p *Program) Borrow(r *Rule) *Program {
	own, ok := p.spare.Get().(*Program)
	if !ok {
		own = p.Clone()
	}
	own.rule = r
	return own
}

// Return gives a borrowed program back. The caller must not use it any more.
func (p *Program) Return() {
	p.rule = nil
	p.spare.Put(p)
}

// Completed returns r, a scope of the program's rule, with what the type adds.
func (p *Program) Completed(r *Rule) *Rule { return r.Of(&p.typ) }

// Rule returns the rule with what its type adds.
func (p *Program) Rule() *Rule { return p.rule }

// SetNow sets what now() returns in the rule's expressions. It should be the due time of the firing, so that a repeated
// firing judges in the same way.
func (p *Program) SetNow(t time.Time) {
	p.when.SetNow(t)
	if p.warehouse != nil {
		p.warehouse.SetNow(t)
	}
	if p.priority != nil {
		p.priority.SetNow(t)
	}
	if p.order != nil {
		p.order.SetNow(t)
	}
	for _, f := range p.fields {
		f.value.SetNow(t)
	}
	for _, e := range p.deliver {
		if e.when != nil {
			e.when.SetNow(t)
		}
		if e.at != nil {
			e.at.SetNow(t)
		}
	}
}

// Match evaluates the condition. An error means that the row could not be judged.
func (p *Program) Match(r *row.Row) (bool, error) {
	return p.when.Match(r)
}

// Key returns the canonical JSON array of the key columns; "[]" with per: result.
func (p *Program) Key(r *row.Row) string { return p.array(p.key, r) }

// AppendKey appends what Key returns.
func (p *Program) AppendKey(dst []byte, r *row.Row) []byte { return appendArray(dst, p.key, r) }

// Group returns the canonical JSON array of the group_by columns, and "" where the rule does not group.
func (p *Program) Group(r *row.Row) string {
	if p.group == nil {
		return ""
	}
	return p.array(p.group, r)
}

// Watched returns a hash of the names of the notify_again_on columns, a space, and a hash of their values. It is ""
// where the rule has no such columns. The names are part of the text, so that the text also changes with the list of
// columns.
func (p *Program) Watched(r *row.Row) string {
	if p.watched == nil {
		return ""
	}
	return p.watchedName + " " + hashed(p.array(p.watched, r))
}

// AppendWatched appends what Watched returns.
func (p *Program) AppendWatched(dst []byte, r *row.Row) []byte {
	if p.watched == nil {
		return dst
	}
	p.buf = appendArray(p.buf[:0], p.watched, r)
	sum := sha256.Sum256(p.buf)
	return base64.RawURLEncoding.AppendEncode(append(append(dst, p.watchedName...), ' '), sum[:12])
}

// hashed returns a short hash of a text.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Identity returns the canonical JSON of the key columns, a zero byte, and the canonical JSON of the watermark columns.
// The bytes are valid until the next use of the program.
func (p *Program) Identity(r *row.Row) []byte {
	p.buf = appendArray(p.buf[:0], p.key, r)
	p.buf = appendArray(append(p.buf, 0), p.watermark, r)
	return p.buf
}

func (p *Program) array(columns []int, r *row.Row) string {
	p.buf = appendArray(p.buf[:0], columns, r)
	return string(p.buf)
}

func appendArray(dst []byte, columns []int, r *row.Row) []byte {
	dst = append(dst, '[')
	for i, c := range columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = r.Values[c].AppendKey(dst)
	}
	return append(dst, ']')
}

// Watermark returns clones of the row's values of the watermark columns, in the rule's order. It returns nil where the
// rule has no watermark.
func (p *Program) Watermark(r *row.Row) []row.Value {
	if p.watermark == nil {
		return nil
	}
	values := make([]row.Value, len(p.watermark))
	for i, c := range p.watermark {
		values[i] = r.Values[c].Clone()
	}
	return values
}

// InitialWatermark returns the values after which the first run begins, in the rule's order. Durations count back from
// now.
func (p *Program) InitialWatermark(now time.Time) []row.Value {
	if p.watermark == nil {
		return nil
	}
	values := make([]row.Value, len(p.initial))
	for i, v := range p.initial {
		values[i] = v.at(now)
	}
	return values
}

// Uses returns for each column the fields of the rule that read the column, in the order of the rule reference. columns
// must be the columns with which the program was compiled. A column without uses can be left out of the probe.
func (p *Program) Uses(columns []row.Column) [][]string {
	uses := make([][]string, len(columns))
	note := func(what string, at ...int) {
		for _, i := range at {
			if !slices.Contains(uses[i], what) {
				uses[i] = append(uses[i], what)
			}
		}
	}
	noteExpr := func(what string, e *condition.Program) {
		if e != nil {
			note(what, e.Columns()...)
		}
	}
	note("watermark", p.watermark...)
	noteExpr("when", p.when)
	note("key", p.key...)
	note("group_by", p.group...)
	if p.rule.SplitBy != "" {
		note("split_by", p.split)
	}
	note("notify_again_on", p.watched...)
	noteExpr("warehouse", p.warehouse)
	noteExpr("priority", p.priority)
	noteExpr("order", p.order)
	p.noteTexts("title", p.rule.Notice.Title, columns, note)
	p.noteTexts("body", p.rule.Notice.Body, columns, note)
	for _, f := range p.fields {
		noteExpr("fields."+f.name, f.value)
	}
	for i, e := range p.deliver {
		what := "deliver." + p.rule.Deliver[i].Sink
		noteExpr(what+".at", e.at)
		noteExpr(what+".when", e.when)
	}
	return uses
}

func (p *Program) noteTexts(what string, byLanguage map[string]string, columns []row.Column, note func(string, ...int)) {
	for _, lang := range sortedKeys(byLanguage) {
		t, _ := parseText(p.rule, byLanguage[lang]) // sound, because the program has compiled
		for _, name := range t.Columns() {
			if i := row.Index(columns, name); i >= 0 {
				note(what, i)
			}
		}
	}
}
