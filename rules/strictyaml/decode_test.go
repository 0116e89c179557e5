package strictyaml

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type sample struct {
	Name   string            `yaml:"name,required"`
	Size   int               `yaml:"size" min:"1" max:"9"`
	Big    int64             `yaml:"big"`
	On     bool              `yaml:"on"`
	Wait   time.Duration     `yaml:"wait" max:"1d"`
	Mode   string            `yaml:"mode" enum:"state,event"`
	Labels map[string]string `yaml:"labels"`
	List   []inner           `yaml:"list"`
	Inner  *inner            `yaml:"inner"`
	Raw    *Node             `yaml:"raw"`
	Any    anything          `yaml:"any"`
	hidden int
}

type inner struct {
	Column string `yaml:"column,required"`
}

type anything struct{ value any }

func (a *anything) DecodeYAML(d *Decoder, name string, n *Node) {
	a.value, _ = d.Any(name, n)
}

func TestDecode(t *testing.T) {
	f := parse(t, `
name: x
size: 9
big: -9007199254740993
on: true
wait: 1h30m
mode: event
labels: {a: b, "1": c}
list: [{column: d}]
inner: {column: e}
raw: [1]
any: 1.5
`)
	got := sample{hidden: 1}
	if problems := f.Decode(f.Root, &got); len(problems) > 0 {
		t.Fatal(problems)
	}
	if got.Raw == nil || got.Raw.Kind != Sequence {
		t.Errorf("raw: %+v", got.Raw)
	}
	got.Raw = nil
	want := sample{
		Name: "x", Size: 9, Big: -9007199254740993, On: true, Wait: 90 * time.Minute, Mode: "event",
		Labels: map[string]string{"a": "b", "1": "c"}, List: []inner{{"d"}}, Inner: &inner{"e"}, Any: anything{1.5}, hidden: 1,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{}, anything{})); diff != "" {
		t.Error(diff)
	}
}

// Each line of src stands alone: what it lacks of the struct is left out of the problems.
func TestDecodeProblems(t *testing.T) {
	for src, want := range map[string]string{
		"nam: x":                    `2:1 unknown_field there is no field "nam" here (did you mean "name"?)`,
		"hidden: 1":                 `2:1 unknown_field there is no field "hidden" here (known fields: name, size, big, on, wait, mode, labels, list, inner, raw, any)`,
		"size: 5\nsize: 6":          `3:1 duplicate_field "size" is set twice (it is first set in line 2; keep one of them)`,
		"name: 12":                  `2:7 wrong_type name takes a text, found the number 12 (put it in quotes: "12")`,
		"name: true":                `2:7 wrong_type name takes a text, found true (put it in quotes: "true")`,
		"name: {a: b}":              `2:7 wrong_type name takes a text, found a map (a text that begins with { needs quotes)`,
		"name: [a]":                 `2:7 wrong_type name takes a text, found a list`,
		"name:":                     `2:6 wrong_type name takes a text, found nothing (remove the field, or give it a value)`,
		"name: !secret x":           `2:7 unknown_tag the tag !secret is not known here (leave it out); 2:7 wrong_type name takes a text, found the text "x" (put it in quotes: "x")`,
		"size: 0":                   `2:7 out_of_range size is 0, at least 1 is needed`,
		"size: 10":                  `2:7 out_of_range size is 10, at most 9 is allowed`,
		"size: big":                 `2:7 wrong_type size takes a whole number, found the text "big"`,
		"size: 010":                 `2:7 wrong_type size takes a whole number in plain digits, found the number 010 (write it without leading zeros, prefixes and underscores, or as a text in quotes)`,
		"size: 1.5":                 `2:7 wrong_type size takes a whole number, found the number 1.5`,
		"big: 99999999999999999999": `2:6 wrong_type big takes a whole number, found the number 99999999999999999999`,
		"on: yes":                   `2:5 wrong_type on takes true or false, found the text "yes"`,
		"wait: 5":                   `2:7 bad_duration wait: "5" is no duration (5 has no unit: add s, m, h or d)`,
		"wait: 5 minutes":           `2:7 bad_duration wait: "5 minutes" is no duration (5 has no unit: add s, m, h or d)`,
		"wait: 5min":                `2:7 bad_duration wait: "5min" is no duration (the units are s, m, h and d, not min)`,
		"wait: -5m":                 `2:7 out_of_range wait is -5m, at least 0s is needed`,
		"wait: 2d":                  `2:7 out_of_range wait is 2d, at most 1d is allowed`,
		"wait: [5m]":                `2:7 wrong_type wait takes a duration such as 10m, found a list`,
		"mode: events":              `2:7 unknown_value mode cannot be "events" (did you mean "event"?)`,
		"mode: other":               `2:7 unknown_value mode cannot be "other" (one of state, event)`,
		"labels: {a: 1}":            `2:13 wrong_type labels.a takes a text, found the number 1 (put it in quotes: "1")`,
		"labels: {a: x, a: y}":      `2:16 duplicate_field "a" is set twice (it is first set in line 2; keep one of them)`,
		"labels: [a]":               `2:9 wrong_type labels takes a map, found a list`,
		"labels: {[a]: b}":          `2:10 wrong_type a name was expected here, found a list`,
		"list: {column: d}":         `2:7 wrong_type list takes a list, found a map`,
		"list: d":                   `2:7 wrong_type list takes a list, found the text "d" (write [d])`,
		"list: [{colunm: d}]":       `2:8 missing_field list[0].column is missing; 2:9 unknown_field there is no field "colunm" in list[0] (did you mean "column"?)`,
		"inner:\n  {}":              `2:1 missing_field inner.column is missing`,
		"any: .inf":                 `2:6 wrong_type any takes a finite number, found the number .inf`,
		"any: {}":                   `2:6 wrong_type any takes a single value, found a map`,
		"inner: {<<: 5, column: x}": `2:13 wrong_type << takes a map, or a list of maps, found the number 5`,
		"size: x\nwait: y\nfoo: z":  `2:7 wrong_type size takes a whole number, found the text "x"; 3:7 bad_duration wait: "y" is no duration (a duration is numbers with the units d, h, m and s, such as 90s or 1d12h); 4:1 unknown_field there is no field "foo" here (known fields: name, size, big, on, wait, mode, labels, list, inner, raw, any)`,
	} {
		t.Run(src, func(t *testing.T) {
			f := parse(t, "# a line above\n"+src+"\n")
			var got []string
			for _, p := range f.Decode(f.Root, &sample{}) {
				if p.Message == "name is missing" {
					continue
				}
				s := fmt.Sprintf("%d:%d %s %s", p.Line, p.Col, p.Code, p.Message)
				if p.Hint != "" {
					s += " (" + p.Hint + ")"
				}
				got = append(got, s)
			}
			slices.Sort(got)
			if s := strings.Join(got, "; "); s != want {
				t.Errorf("got  %s\nwant %s", s, want)
			}
		})
	}
}

func TestMergeKeepsPlaces(t *testing.T) {
	f := parse(t, "base: {a: {x: 1, y: 2}, b: [1], c: 3}\nover: {a: {y: 4}, b: [5, 6], d: 7}\n")
	m := Merge(f.Root.Get("base"), f.Root.Get("over"))
	for path, want := range map[string]string{"a.x": "1@1", "a.y": "4@2", "b[0]": "5@2", "b[1]": "6@2", "c": "3@1", "d": "7@2"} {
		n, _ := m.Walk(path)
		if n == nil {
			t.Errorf("%s is gone", path)
		} else if got := fmt.Sprintf("%s@%d", n.Text, n.Line); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if f.Root.Get("base", "a", "y").Text != "2" {
		t.Error("the base has changed")
	}
	if m := Merge(nil, f.Root); m != f.Root {
		t.Error("merging with nothing changes something")
	}
}

func TestWalkNamesTheNearestField(t *testing.T) {
	f := parse(t, "a: {b: {}}\nc: [{d: 1}]\n")
	for path, want := range map[string]string{"a.b.x.y": "1:5", "a.z": "1:1", "c[0].z": "2:5", "c[7]": "2:1", "q": "1:1"} {
		n, last := f.Root.Walk(path)
		if n != nil {
			t.Errorf("%s was found", path)
		}
		if got := fmt.Sprintf("%d:%d", last.Line, last.Col); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
