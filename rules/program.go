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

// Program is a rule compiled against the columns of its prepared probe. It is not safe for
// concurrent use; a run makes its own with Clone.
type Program struct {
	rule        *Rule
	typ         catalog.Type
	when        *condition.Program
	warehouse   *condition.Program // nil = the scope's name
	priority    *condition.Program // nil = fixed
	order       *condition.Program // nil = fixedOrder
	fixedOrder  string
	fixed       int
	key         []int // columns
	group       []int // columns; nil = no groups
	split       int   // column; of no meaning without split_by
	watched     []int // columns of notify_again_on; nil = none
	watchedName string
	watermark   []int
	initial     []initialValue
	kinds       []row.Kind // of the watermark's columns
	fields      []dataField
	words       ruleWords
	deliver     []entry        // nil where no entry of the rule's deliver has an expression
	everywhere  []AppliedEntry // all entries
	buf         []byte
	spare       *sync.Pool // of clones that Borrow gives out; shared by all that were cloned of one
}

// ruleWords are the words of the rule, and those of its type where the rule has none.
type ruleWords struct {
	message.Words
	typeTitle, typeBody bool         // the text is that of the type, over the fields
	fields              []row.Column // of the type
}

// dataField is one typed value of the data.
type dataField struct {
	name     string
	column   int // among the fields of the type
	kind     catalog.FieldKind
	required bool
	value    *condition.Program
}

// Text is the words of a notice in one language.
type Text = message.Text

// NoticeDraft is what a rule says about a row, a group or a result: the part of a notice that comes from the rule file.
type NoticeDraft struct {
	Type      catalog.Type
	Warehouse string
	Priority  int    // 1 (low) … 5 (high)
	Order     string // as item.ServiceOrder writes it; "" = none
	Modal     Modal
	Texts     map[string]Text // by language; "" always present
	Fields    []Field         // in the catalogue's (sorted) order
	Expires   time.Duration
	Deliver   []AppliedEntry // where it goes; shared, never changed
}

// Size is about how many bytes the draft takes.
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

// Field is one typed value of a notice's data. Its value has the kind that the catalogue asks for (Text, Int,
// Decimal, Bool or Time), or is NULL.
type Field struct {
	Name  string
	Value row.Value // cloned
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

// Borrow returns the program for a scope of its rule, which differs in name and parameters alone. Nobody else has it, until Return. It costs less than Clone.
func (p *Program) Borrow(r *Rule) *Program {
	own, ok := p.spare.Get().(*Program)
	if !ok {
		own = p.Clone()
	}
	own.rule = r
	return own
}

// Return ends the use of a program that was borrowed.
func (p *Program) Return() {
	p.rule = nil
	p.spare.Put(p)
}

// Completed is a scope of the program's rule as its type completes it.
func (p *Program) Completed(r *Rule) *Rule { return r.Of(&p.typ) }

// Rule is the rule as its type completes it.
func (p *Program) Rule() *Rule { return p.rule }

// SetNow sets what now() returns in the rule's expressions: the firing's due time, so that a repeated
// firing judges alike.
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

// Group returns the canonical JSON array of the group_by columns; "" where the rule does not group.
func (p *Program) Group(r *row.Row) string {
	if p.group == nil {
		return ""
	}
	return p.array(p.group, r)
}

// Watched stands for the notify_again_on columns and, after a space, for their values; "" where the rule has none.
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

// hashed is a short text that stands for a long one.
func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Identity returns the canonical JSON of the key columns and that of the watermark columns, with a zero byte between them. The bytes are valid until
// the program is used again.
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

// Watermark returns the values of the watermark columns, in the rule's order; nil where the rule has no watermark.
// The values are cloned.
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

// InitialWatermark returns what the first run begins after, in the rule's order: durations count back from now.
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

// Uses says for each of the columns that the program was compiled with what reads it: the fields of the rule, in the order of the
// reference. A column that nothing reads is a question that the probe need not ask.
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
		t, _ := parseText(p.rule, byLanguage[lang]) // sound, as the program was compiled
		for _, name := range t.Columns() {
			if i := row.Index(columns, name); i >= 0 {
				note(what, i)
			}
		}
	}
}
