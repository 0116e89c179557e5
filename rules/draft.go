package rules

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tallyman/internal/notice"
	"tallyman/rules/catalog"
	"tallyman/rules/condition"
	"tallyman/rules/message"
	"tallyman/rules/row"
)

// subject holds the rows that a notice is about: one row, the rows of a group in the order of their keys, or the rows
// of a result.
type subject struct {
	rows   []*row.Row
	result bool
}

// eval evaluates an expression of the notice. For a group it evaluates the first row.
func (s subject) eval(p *condition.Program) (row.Value, error) {
	if s.result {
		return p.EvalResult(s.rows)
	}
	return p.Eval(s.rows[0])
}

func (s subject) render(b *message.Bound, grouped bool) (string, error) {
	if s.result || grouped {
		return b.RenderRows(s.rows)
	}
	return b.Render(s.rows[0])
}

// MatchResult evaluates the condition of a rule with per: result over all its rows.
func (p *Program) MatchResult(rows []*row.Row) (bool, error) { return p.when.MatchResult(rows) }

// Priority evaluates the notice's priority, clamped to 1 … 5; digits after the point are dropped.
func (p *Program) Priority(r *row.Row) (int, error) {
	if p.priority == nil {
		return p.fixed, nil
	}
	return priorityOf(p.priority.Eval(r))
}

// PriorityResult is Priority for a rule with per: result.
func (p *Program) PriorityResult(rows []*row.Row) (int, error) {
	if p.priority == nil {
		return p.fixed, nil
	}
	return priorityOf(p.priority.EvalResult(rows))
}

func priorityOf(v row.Value, err error) (int, error) {
	if err != nil {
		return 0, fmt.Errorf("priority: %w", err)
	}
	return clampPriority(v)
}

// Draft drafts the notice of one row. For a rule with group_by the row is a group of its own.
func (p *Program) Draft(r *row.Row) (*NoticeDraft, error) {
	return p.DraftGroup([]*row.Row{r})
}

// DraftGroup drafts the notice of a group. rows holds at least one row, in the order of their keys. Fields and
// warehouse come from the first row. The priority is the highest of all rows.
func (p *Program) DraftGroup(rows []*row.Row) (*NoticeDraft, error) {
	d, err := p.draft(subject{rows: rows})
	if err != nil || p.priority == nil {
		return d, err
	}
	for _, r := range rows[1:] {
		priority, err := p.Priority(r)
		if err != nil {
			return nil, err
		}
		d.Priority = max(d.Priority, priority)
	}
	return d, nil
}

// DraftResult drafts the notice of a result, for a rule with per: result.
func (p *Program) DraftResult(rows []*row.Row) (*NoticeDraft, error) {
	return p.draft(subject{rows, true})
}

func (p *Program) draft(s subject) (*NoticeDraft, error) {
	d := &NoticeDraft{Type: p.typ, Modal: cmp.Or(p.rule.Notice.Modal, ModalSilent), Expires: p.rule.Notice.Expires}
	if d.Expires == 0 {
		d.Expires = p.typ.Retention
	}
	var err error
	if d.Warehouse, err = p.warehouseOf(s); err != nil {
		return nil, err
	}
	if s.result {
		d.Priority, err = p.PriorityResult(s.rows)
	} else {
		d.Priority, err = p.Priority(s.rows[0])
	}
	if err != nil {
		return nil, err
	}
	if d.Order, err = p.orderOf(s); err != nil {
		return nil, err
	}
	if d.Fields, err = p.data(s); err != nil {
		return nil, err
	}
	if d.Texts, err = p.render(s, d.Fields); err != nil {
		return nil, err
	}
	d.Deliver, err = p.applied(s)
	return d, err
}

// render writes title and body. The rule's own templates see the rows, the type's templates see the fields of the
// notice.
func (p *Program) render(s subject, data []Field) (map[string]Text, error) {
	ofRows := func(b *message.Bound) (string, error) { return s.render(b, p.group != nil) }
	title, body := ofRows, ofRows
	if p.words.typeTitle || p.words.typeBody {
		fields := row.New(p.words.fields)
		for i, f := range p.fields {
			fields.Values[f.column] = data[i].Value
		}
		ofData := func(b *message.Bound) (string, error) { return b.Render(fields) }
		if p.words.typeTitle {
			title = ofData
		}
		if p.words.typeBody {
			body = ofData
		}
	}
	return p.words.Render(title, body)
}

func (p *Program) warehouseOf(s subject) (string, error) {
	if p.warehouse == nil {
		return p.rule.Scope, nil
	}
	v, err := s.eval(p.warehouse)
	if err != nil {
		return "", fmt.Errorf("warehouse: %w", err)
	}
	name, ok := warehouseName(v)
	if !ok {
		return "", fmt.Errorf("warehouse: %q cannot name a warehouse", clip(name))
	}
	return name, nil
}

// warehouseName makes the name of a warehouse from a value. It returns false where the value cannot be such a name.
func warehouseName(v row.Value) (string, bool) {
	name := strings.TrimRight(v.String(), " ") // databases pad CHAR columns with spaces
	if v.Kind() == row.Decimal {
		name = string(v.AppendKey(nil)) // 119240.00 is warehouse 119240
	}
	return strings.Clone(name), plainName.MatchString(name)
}

func (p *Program) data(s subject) ([]Field, error) {
	data := make([]Field, len(p.fields))
	for i, f := range p.fields {
		v, err := s.eval(f.value)
		if err == nil {
			v, err = fit(f.kind, v)
		}
		if err == nil && v.IsNull() && f.required {
			err = errRequired
		}
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.name, err)
		}
		data[i] = Field{Name: f.name, Value: v.Clone()}
	}
	return data, nil
}

// applied returns the entries of deliver that apply to the subject. An entry applies to a group where it applies to at
// least one row. Its time is then the earliest time of these rows.
func (p *Program) applied(s subject) ([]AppliedEntry, error) {
	if p.deliver == nil {
		return p.everywhere, nil
	}
	list := make([]AppliedEntry, 0, len(p.deliver))
	for i, e := range p.deliver {
		at, ok, err := e.applies(s)
		if err != nil {
			return nil, fmt.Errorf("deliver[%d], to %s: %w", i, p.rule.Deliver[i].Sink, err)
		}
		if ok {
			list = append(list, AppliedEntry{Entry: i, At: at})
		}
	}
	return list, nil
}

func (e entry) applies(s subject) (at time.Time, ok bool, err error) {
	if s.result {
		return e.one(subject{s.rows, true})
	}
	atOnce := false
	for i := range s.rows {
		t, applies, err := e.one(subject{rows: s.rows[i : i+1]})
		switch {
		case err != nil:
			return time.Time{}, false, err
		case !applies:
			continue
		case t.IsZero():
			atOnce = true
		case at.IsZero() || t.Before(at):
			at = t
		}
		ok = true
	}
	if atOnce {
		at = time.Time{}
	}
	return at, ok, nil
}

// one is applies for a single row, or for a result as a whole.
func (e entry) one(s subject) (at time.Time, ok bool, err error) {
	if e.when != nil {
		if s.result {
			ok, err = e.when.MatchResult(s.rows)
		} else {
			ok, err = e.when.Match(s.rows[0])
		}
		if err != nil {
			return time.Time{}, false, fmt.Errorf("when: %w", err)
		}
		if !ok {
			return time.Time{}, false, nil
		}
	}
	if e.at == nil {
		return time.Time{}, true, nil
	}
	v, err := s.eval(e.at)
	if err != nil {
		return time.Time{}, false, fmt.Errorf("at: %w", err)
	}
	switch v.Kind() {
	case row.Null:
		return time.Time{}, true, nil
	case row.Time:
		return v.Time(), true, nil
	default:
		return time.Time{}, false, fmt.Errorf("at: is a value of kind %s, not a time", v.Kind())
	}
}

var errRequired = errors.New("is NULL, but the type requires it")

// fitting lists the kinds of values that a field takes. A text field takes numbers, because a WMS often has numbers as
// the names of bins and articles. Only text fields take JSON as it is. For other fields, the kind of a value from a
// JSON column is known only when the row is there.
var fitting = map[catalog.FieldKind][]row.Kind{
	catalog.String:  {row.Text, row.JSON, row.Int, row.Decimal},
	catalog.Int:     {row.Int},
	catalog.Decimal: {row.Decimal, row.Int, row.Float},
	catalog.Bool:    {row.Bool},
	catalog.Time:    {row.Time, row.Date},
}

// Fits tells whether a field can take values of the kind, as far as that is known before a row is there.
func Fits(want catalog.FieldKind, k row.Kind) bool {
	return k == row.Null || k == row.JSON || slices.Contains(fitting[want], k)
}

// kindHint says how to make a value of kind k fit a field of kind want.
func kindHint(want catalog.FieldKind, k row.Kind) string {
	switch {
	case want == catalog.String:
		return "write string(…), or give the field another type in the catalogue"
	case want == catalog.Int && k == row.Decimal:
		return "give the field the type decimal, or CAST to an integer in the SQL"
	case want == catalog.Bool && k == row.Int:
		return "write … != 0"
	case k == row.Text && want == catalog.Decimal:
		return "CAST it to a number in the SQL, or write float(…); a constant stands without quotes"
	case k == row.Text && want == catalog.Int:
		return "CAST it to an integer in the SQL, or write int(…); a constant stands without quotes"
	case k == row.Text && want == catalog.Time:
		return "CAST it to a timestamp in the SQL, or write date(…)"
	}
	return "convert it, or give the field another type in the catalogue"
}

// fit converts a value to the field's kind.
func fit(want catalog.FieldKind, v row.Value) (row.Value, error) {
	if v.IsNull() {
		return v, nil
	}
	if !slices.Contains(fitting[want], v.Kind()) {
		return v, fmt.Errorf("is a value of kind %s, which does not fit a field of type %s", v.Kind(), want)
	}
	switch {
	case want == catalog.String:
		return row.TextOf(bounded(v.String(), message.MaxSize)), nil
	case want == catalog.Decimal && v.Kind() == row.Int:
		return row.DecimalOf(v.Int(), 0), nil
	case want == catalog.Decimal && v.Kind() == row.Float:
		if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			return v, fmt.Errorf("is %s, which is no decimal", v)
		}
		return row.ParseDecimal(strconv.FormatFloat(v.Float(), 'f', -1, 64))
	case want == catalog.Time && v.Kind() == row.Date:
		return row.TimeOf(v.Time()), nil
	}
	return v, nil
}

// bounded makes a text valid UTF-8. It cuts a text that has more bytes than most. A text that was cut ends in "…".
func bounded(s string, most int) string {
	if s = strings.ToValidUTF8(s, "\uFFFD"); len(s) > most {
		const mark = "…"
		s = strings.ToValidUTF8(s[:most-len(mark)], "") + mark
	}
	return s
}

// clampPriority makes a priority from the value of the expression. Values below 1 become 1, values above 5 become 5.
func clampPriority(v row.Value) (int, error) {
	const low, high = notice.LowestPriority, notice.HighestPriority
	switch v.Kind() {
	case row.Int, row.Decimal, row.Float:
	case row.Null:
		return 0, errors.New("priority: is NULL")
	default:
		return 0, fmt.Errorf("priority: is a value of kind %s, not a number", v.Kind())
	}
	for n := high; n > low; n-- {
		if c, err := row.Compare(v, row.IntOf(int64(n))); err == nil && c >= 0 {
			return n, nil
		}
	}
	return low, nil
}

// clip shortens a text for a message.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
