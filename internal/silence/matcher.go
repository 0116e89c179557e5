package silence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"tallyman/internal/notice"
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

// The bounds of a silence. RE2 matches every expression in linear time, so longestValue bounds its cost. A literal key
// can be as long as the key of a finding.
const (
	longestName  = 64
	longestValue = 500
	longestKey   = 4 << 10
	mostMatchers = 20
)

// The names of matchers that are not names of labels. A label with one of these names is written "labels.rule".
const (
	nameRule      = "rule"
	nameType      = "type"
	nameWarehouse = "warehouse"
	nameScope     = "scope"
	nameKey       = "key"
	labelPrefix   = "labels."
)

const nameHint = "rule, type, warehouse, scope, key, or the name of a label"

var matcherName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// Subject is a notice, or a notice that a rule is about to make, as silences see it.
type Subject struct {
	Rule, Type, Warehouse, Scope string
	Key                          string // Canonical key of the finding, or of the group, as the notice carries it.
	Labels                       map[string]string
}

// SubjectOf returns the subject of an existing notice.
func SubjectOf(n *notice.Notice) *Subject {
	return &Subject{Rule: n.Rule, Type: n.Type, Warehouse: n.Warehouse, Scope: n.Scope, Key: n.Key, Labels: n.Labels}
}

// field returns the field or label with the name, or "".
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
	case nameKey:
		return s.Key
	}
	return s.Labels[strings.TrimPrefix(name, labelPrefix)]
}

// Matcher is one condition of a silence. Make one with ParseMatcher.
type Matcher struct {
	Name  string
	Op    Op
	Value string

	expr *regexp.Regexp // For Fits and FitsNot.
}

// ParseMatcher parses a matcher: rule=negative-bin-stock, warehouse=~1192.*, area!=inbound. An expression (RE2) must
// match the whole text. The value may be in double quotes. The error is an *Error.
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
		return Matcher{}, bad(text, "has no name", nameHint)
	case len(m.Name) > longestName+len(labelPrefix) || !matcherName.MatchString(m.Name):
		return Matcher{}, bad(text, fmt.Sprintf("%q is not a name", m.Name), nameHint)
	}
	return m.compile(text)
}

// compile removes the quotes from the value and compiles an expression.
func (m Matcher) compile(text string) (Matcher, error) {
	if strings.HasPrefix(m.Value, `"`) {
		value, err := strconv.Unquote(m.Value)
		if err != nil {
			return Matcher{}, bad(text, "the quotes of its value do not close", "")
		}
		m.Value = value
	}
	exact := m.Op == Equal || m.Op == NotEqual
	longest := longestValue
	if exact && m.IsKey() {
		longest = longestKey
	}
	switch {
	case len(m.Value) > longest:
		return Matcher{}, bad(text, fmt.Sprintf("its value is longer than %d bytes", longest), "")
	case !utf8.ValidString(m.Value) || strings.ContainsRune(m.Value, 0):
		return Matcher{}, bad(text, "its value is not valid text", "")
	case exact && m.IsKey() && m.Value != "":
		key, ok := canonicalKey(m.Value)
		if !ok {
			return Matcher{}, bad(text, "its value is not a key", `a key is a JSON array as notices carry it: key=[119240,"A-01"]; an expression fits a part of it: key=~.*"A-01".*`)
		}
		m.Value = key
		return m, nil
	case exact:
		return m, nil
	}
	if _, err := regexp.Compile(m.Value); err != nil { // The value must compile alone, so that its brackets cannot close the group that is added below.
		return Matcher{}, bad(text, strings.TrimPrefix(err.Error(), "error parsing regexp: "), "write a regular expression in the form of RE2")
	}
	expr, err := regexp.Compile(`^(?s:` + m.Value + `)$`)
	if err != nil {
		return Matcher{}, bad(text, err.Error(), "")
	}
	m.expr = expr
	return m, nil
}

// canonicalKey returns a key in the form that notices carry: a JSON array without spaces, or the text that is the key
// of a finding about the rule itself.
func canonicalKey(value string) (key string, ok bool) {
	switch strings.Trim(value, `"`) {
	case "no_data":
		return `"no_data"`, true
	case "on_error":
		return `"on_error"`, true
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, []byte(value))
	return compact.String(), err == nil && strings.HasPrefix(value, "[")
}

// Matches tells whether the subject meets the condition. A missing label counts as an empty text.
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

// IsKey tells whether the matcher is about the key of a finding.
func (m Matcher) IsKey() bool { return m.Name == nameKey }

// IsLabel tells whether the matcher is about a label.
func (m Matcher) IsLabel() bool {
	return m.Name != nameRule && m.Name != nameType && m.Name != nameWarehouse && m.Name != nameScope && m.Name != nameKey
}

// String writes the matcher in a form from which ParseMatcher makes the same matcher.
func (m Matcher) String() string {
	value := m.Value
	if value != strings.TrimSpace(value) || strings.HasPrefix(value, `"`) || m.swallowed() {
		value = strconv.Quote(value)
	}
	return m.Name + string(m.Op) + value
}

// swallowed tells whether ParseMatcher would read the beginning of the value as a part of the operator: "=" before "~".
func (m Matcher) swallowed() bool { return m.Op == Equal && strings.HasPrefix(m.Value, "~") }
