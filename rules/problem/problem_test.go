package problem_test

import (
	"errors"
	"strings"
	"testing"

	"tallyman/rules/problem"
)

func TestForms(t *testing.T) {
	p := problem.At("f.yaml", "\tkey: 库存, x", 3, 11, "c", "is wrong", "do right")
	want := "f.yaml:3:11: c: is wrong\n  \tkey: 库存, x\n  \t           ^\n  hint: do right"
	if got := p.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	whole := problem.Problem{Code: "c", File: "f.yaml", Message: "is not there"}
	if got := whole.String(); got != "f.yaml: c: is not there" {
		t.Error(got)
	}
	var list problem.List
	if list.Err() != nil {
		t.Error("an empty list is an error")
	}
	list = problem.List{whole, p}
	if got := list.Err().Error(); got != "f.yaml: c: is not there\nf.yaml:3:11: c: is wrong" {
		t.Error(got)
	}
	if _, ok := errors.AsType[problem.List](list.Err()); !ok {
		t.Error("the list is lost")
	}
}

func TestLongLinesShowTheirPart(t *testing.T) {
	line := strings.Repeat("a", 500) + "^" + strings.Repeat("b", 500)
	for name, col := range map[string]int{"middle": 501, "start": 1, "end": 1001, "behind the end": 1002} {
		p := problem.At("f", line, 1, col, "c", "m", "")
		shown := []rune(p.Snippet)
		if len(shown) > 165 {
			t.Errorf("%s: %d characters are shown", name, len(shown))
		}
		if col <= 1001 && shown[p.Caret-1] != []rune(line)[col-1] {
			t.Errorf("%s: the caret marks %q", name, shown[p.Caret-1])
		}
		if p.Col != col {
			t.Errorf("%s: col %d", name, p.Col)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	fields := []string{"schedule", "source", "probe", "when", "key", "repeat_interval", "for"}
	for name, want := range map[string]string{
		"shedule": "schedule", "scheduel": "schedule", "sorce": "source", "repeatInterval": "repeat_interval", "repeat-interval": "repeat_interval", "Key": "key",
		"probee": "probe", "fro": "for", "threshold": "", "x": "", "": "", strings.Repeat("schedule", 20): "",
	} {
		got := problem.DidYouMean(name, fields)
		if want != "" {
			want = `did you mean "` + want + `"?`
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestEnd(t *testing.T) {
	for line, want := range map[string]int{
		"key: qty-on_hand < 0": 17, `key: "a, b" x`: 12, "key: 'open": 0, "key: [a]": 0, "key: ": 0, "": 0, "key: 库存 x": 8,
	} {
		if got := problem.At("f", line, 1, 6, "c", "m", "").End(); got != want {
			t.Errorf("%q: %d, want %d", line, got, want)
		}
	}
	long := problem.At("f", strings.Repeat("a ", 500)+"here "+strings.Repeat("b ", 500), 1, 1001, "c", "m", "")
	if got := long.End(); got != 1005 {
		t.Errorf("in a long line: %d", got)
	}
}
