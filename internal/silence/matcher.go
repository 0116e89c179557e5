package silence

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Op is how a matcher compares.
type Op string

// The operators.
const (
	Equal    Op = "="
	NotEqual Op = "!="
	Fits     Op = "=~"
	FitsNot  Op = "!~"
)

// The bounds of what a silence is made of. An expression of longestValue is matched in linear time, whatever it is.
const (
	longestName  = 64
	longestValue = 500
	mostMatchers = 20
)

// The names that are not those of labels. A label of such a name is reached as "labels.rule".
const (
	nameRule      = "rule"
	nameType      = "type"
	nameWarehouse = "warehouse"
	nameScope     = "scope"
	labelPrefix   = "labels."
)

var matcherName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// Subject is what may be silenced: what is about to be told of a rule, or a notice.
type Subject struct {
	Rule, Type, Warehouse, Scope string
	Labels                       map[string]string
}

// field returns the text that a name stands for; "" where there is none.
func (s *Subject) field(name string) string {
	switch name {
	case nameRule:
		return s.Rule
	case nameType:
		return s.Type
	case nameWarehouse:
		return s.Warehouse
	case nameScope:
		return s.Scope
	}
	return s.Labels[strings.TrimPrefix(name, labelPrefix)]
}

// Matcher is one condition of a silence. Make one with ParseMatcher.
type Matcher struct {
	Name  string
	Op    Op
	Value string

	expr *regexp.Regexp // of Fits and FitsNot
}

// ParseMatcher reads a matcher as people write it: rule=negative-bin-stock, warehouse=~1192.*, area!=inbound. An expression has to fit
// the whole text (RE2). A value may stand in double quotes. The error is an *Error.
func ParseMatcher(text string) (Matcher, error) {
	at := strings.IndexAny(text, "=!")
	if at < 0 {
		return Matcher{}, bad(text, "has no operator", "one of =, !=, =~, !~, as in warehouse=~1192.*")
	}
	m := Matcher{Name: strings.TrimSpace(text[:at])}
	rest := text[at:]
	for _, op := range []Op{Fits, FitsNot, NotEqual, Equal} {
		if value, ok := strings.CutPrefix(rest, string(op)); ok {
			m.Op, m.Value = op, strings.TrimSpace(value)
			break
		}
	}
	switch {
	case m.Op == "":
		return Matcher{}, bad(text, "has no operator", "one of =, !=, =~, !~, as in warehouse=~1192.*")
	case m.Name == "":
		return Matcher{}, bad(text, "has no name", "rule, type, warehouse, scope, or the name of a label")
	case len(m.Name) > longestName+len(labelPrefix) || !matcherName.MatchString(m.Name):
		return Matcher{}, bad(text, fmt.Sprintf("%q is no name", m.Name), "rule, type, warehouse, scope, or the name of a label")
	}
	return m.compile(text)
}

// compile takes the quotes off the value and compiles it.
func (m Matcher) compile(text string) (Matcher, error) {
	if strings.HasPrefix(m.Value, `"`) {
		value, err := strconv.Unquote(m.Value)
		if err != nil {
			return Matcher{}, bad(text, "the quotes of its value do not close", "")
		}
		m.Value = value
	}
	switch {
	case len(m.Value) > longestValue:
		return Matcher{}, bad(text, fmt.Sprintf("its value is longer than %d bytes", longestValue), "")
	case !utf8.ValidString(m.Value) || strings.ContainsRune(m.Value, 0):
		return Matcher{}, bad(text, "its value is no text", "")
	case m.Op != Fits && m.Op != FitsNot:
		return m, nil
	}
	if _, err := regexp.Compile(m.Value); err != nil { // by itself, so that no bracket of it closes ours
		return Matcher{}, bad(text, strings.TrimPrefix(err.Error(), "error parsing regexp: "), "the expressions are those of RE2")
	}
	expr, err := regexp.Compile(`^(?s:` + m.Value + `)$`)
	if err != nil {
		return Matcher{}, bad(text, err.Error(), "")
	}
	m.expr = expr
	return m, nil
}

// Matches tells whether the subject meets the condition. What has no such label has it empty.
func (m Matcher) Matches(s *Subject) bool { return m.fits(s.field(m.Name)) }

func (m Matcher) fits(text string) bool {
	switch m.Op {
	case Equal:
		return text == m.Value
	case NotEqual:
		return text != m.Value
	case Fits:
		return m.expr.MatchString(text)
	default:
		return !m.expr.MatchString(text)
	}
}

// IsWarehouse tells whether the matcher is about the warehouse.
func (m Matcher) IsWarehouse() bool { return m.Name == nameWarehouse }

// IsLabel tells whether the matcher is about a label.
func (m Matcher) IsLabel() bool {
	return m.Name != nameRule && m.Name != nameType && m.Name != nameWarehouse && m.Name != nameScope
}

// String writes the matcher so that ParseMatcher reads the same.
func (m Matcher) String() string {
	value := m.Value
	if value != strings.TrimSpace(value) || strings.HasPrefix(value, `"`) || m.swallowed() {
		value = strconv.Quote(value)
	}
	return m.Name + string(m.Op) + value
}

// swallowed tells whether the value would be read as a part of the operator.
func (m Matcher) swallowed() bool { return m.Op == Equal && strings.HasPrefix(m.Value, "~") }
