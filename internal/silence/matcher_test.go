package silence

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"tallyman/internal/notice"
)

var bin = Subject{
	Rule: "negative-bin-stock", Type: "REP_NOTICE", Warehouse: "119240", Scope: "BLR2",
	Key:    `[119240,"A-01"]`,
	Labels: map[string]string{"key": "gold", "area": "replenishment", "rule": "house", "team.name": "night"},
}

func TestMatchers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"rule=negative-bin-stock":    true,
		"rule=negative":              false,
		"type!=REP_NOTICE":           false,
		"warehouse=~1192.*":          true,
		"warehouse=~192":             false, // an expression fits the whole text
		"warehouse=~119240|119241":   true,
		"warehouse!~119240|119241":   false,
		"scope=BLR2":                 true,
		"area!=inbound":              true,
		"area=~(?i)REPL.*":           true,
		" area =~ .*ment ":           true,
		"team.name=night":            true,
		"labels.rule=house":          true,
		"labels.area=replenishment":  true,
		"rule=house":                 false,
		`key=[119240,"A-01"]`:        true,
		`key=[ 119240, "A-01" ]`:     true, // as people write it
		`key=[119240,"A-02"]`:        false,
		`key!=[119240,"A-02"]`:       true,
		`key=~.*"A-01".*`:            true,
		`key=~\[119240,.*`:           true,
		"key=no_data":                false,
		"key=":                       false,
		"labels.key=gold":            true,
		"nobody=":                    true, // what has no such label has it empty
		"nobody!=":                   false,
		"nobody!~.+":                 true,
		`area="replenishment"`:       true,
		`area=~"repl.*"`:             true,
		`area="\u0072eplenishment"`:  true,
		`rule=="x"`:                  false, // its value is ="x"
		"area=~":                     false,
		"warehouse=~119240|119241\n": true, // blanks around are none of it
		"warehouse=~^119240$":        true,
		"warehouse=~(119240":         false,
		"scope=~B(LR|OM)2":           true,
		"labels.labels=":             true,
		"warehouse!=" + strings.Repeat("1", longestValue):              true,
		`key!=["` + strings.Repeat("k", longestKey-len(`[""]`)) + `"]`: true,
	} {
		m, err := ParseMatcher(text)
		if err != nil {
			if text != "warehouse=~(119240" {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if got := m.Matches(&bin); got != want {
			t.Errorf("%q matches: %v", text, got)
		}
	}
}

func TestBadMatchers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "has no operator",
		"rule":                         "has no operator",
		"rule!":                        "has no operator",
		"!x=y":                         "has no operator",
		"=x":                           "has no name",
		"a b=x":                        `"a b" is not a name`,
		"-a=x":                         `"-a" is not a name`,
		strings.Repeat("a", 80) + "=x": "is not a name",
		"area=~(":                      "missing closing )",
		"area=~a)":                     "unexpected )",
		`area=~\Qa`:                    "",
		"area=~a{1001}":                "invalid repeat count",
		"area=~(?=a)":                  "invalid or unsupported Perl syntax",
		`area="x`:                      "the quotes of its value do not close",
		"area=\xff":                    "its value is not valid text",
		"area=a\x00":                   "its value is not valid text",
		"area=" + strings.Repeat("x", longestValue+1): "its value is longer than 500 bytes",
		"key=A-01":       "its value is not a key",
		`key=[1,"A"`:     "its value is not a key",
		`key={"a":1}`:    "its value is not a key",
		`key=["A"]["B"]`: "its value is not a key",
		"key=~" + strings.Repeat("x", longestValue+1):                   "its value is longer than 500 bytes",
		`key=["` + strings.Repeat("k", longestKey-len(`[""]`)+1) + `"]`: "its value is longer than 4096 bytes",
	} {
		_, err := ParseMatcher(text)
		fault, ok := errors.AsType[*Error](err)
		if want == "" {
			if err == nil {
				t.Errorf("%q is taken", text)
			}
			continue
		}
		if !ok || fault.Field != FieldMatchers || !strings.Contains(fault.Message, want) || len(fault.Message) > 700 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// An existing notice is matched by its own fields.
func TestSubjectOf(t *testing.T) {
	t.Parallel()
	n := &notice.Notice{Rule: "r", Type: "T", Warehouse: "w", Scope: "s", Key: `["A"]`, Labels: map[string]string{"area": "x"}}
	for text, want := range map[string]bool{
		"rule=r": true, "type=T": true, "warehouse=w": true, "scope=s": true, `key=["A"]`: true, "area=x": true, `key=["B"]`: false, "area=y": false,
	} {
		m, err := ParseMatcher(text)
		if err != nil || m.Matches(SubjectOf(n)) != want {
			t.Errorf("%s: %v, %v", text, !want, err)
		}
	}
}

// The findings that are about a rule itself have texts as keys, which are read with their quotes and without.
func TestKeysAboutTheRule(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"key=no_data", `key="no_data"`, `key="\"no_data\""`} {
		m, err := ParseMatcher(text)
		if err != nil || !m.Matches(&Subject{Key: `"no_data"`}) || m.Matches(&Subject{Key: `["no_data"]`}) || m.String() != `key="\"no_data\""` {
			t.Errorf("%s is %s, %v", text, m, err)
		}
	}
}

// FuzzMatcher: whatever is taken is written so that it is read as the same, and fits what its expression fits as a whole.
func FuzzMatcher(f *testing.F) {
	for _, s := range []string{"rule=x", "warehouse=~1192.*", "area!=inbound", `area!~"a b"`, "a=~x|y", `a=" x"`, "a==x", `a=~\Qx`, "a!=~x", `a="~x"`, `key=[1, "A"]`, `key="no_data"`, `key="\"on_error\""`} {
		f.Add(s, "x")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		m, err := ParseMatcher(text)
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := ParseMatcher(m.String())
		if err != nil || again.Name != m.Name || again.Op != m.Op || again.Value != m.Value {
			t.Fatalf("%q is written as %q, which is read as %+v, %v", text, m.String(), again, err)
		}
		s := Subject{Labels: map[string]string{strings.TrimPrefix(m.Name, labelPrefix): value}, Rule: value, Type: value, Warehouse: value, Scope: value, Key: value}
		got := m.Matches(&s)
		if got != again.Matches(&s) {
			t.Fatalf("%q and %q differ about %q", text, m.String(), value)
		}
		if m.Op == Fits || m.Op == FitsNot {
			longest := regexp.MustCompile("(?s)" + m.Value)
			longest.Longest()
			at := longest.FindStringIndex(value)
			if whole := at != nil && at[0] == 0 && at[1] == len(value); whole && got != (m.Op == Fits) {
				t.Fatalf("%q fits the whole of %q", m.Value, value)
			}
		}
	})
}
