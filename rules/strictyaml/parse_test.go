package strictyaml

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"tallyman/internal/text"
)

func parse(t *testing.T, src string) *File {
	t.Helper()
	f, problems := Parse("f.yaml", []byte(src))
	if f == nil {
		t.Fatalf("parse: %v", problems)
	}
	return f
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ src, want, message string }{
		"second colon":             {"version: 1\na: b: c\n", "2:5 yaml_syntax", "second colon"},
		"second colon, line 1":     {"a: b: c\n", "1:5 yaml_syntax", "second colon"},
		"bare @":                   {"a:\n  cron: @every 30s\n", "2:9 yaml_syntax", "cannot begin"},
		"bare %":                   {"a: %x\n", "1:4 yaml_syntax", "cannot begin"},
		"tab indent":               {"a:\n\tb: 2\n", "2:1 yaml_syntax", "a tab"},
		"tab in block":             {"a:\n  b: 1\n\tc: 2\n", "3:1 yaml_syntax", "tab"},
		"bad indentation":          {"a:\n  - x\n b: 3\n", "3:2 yaml_syntax", "fits no block"},
		"open list":                {"a: 1\nb: [1,\n  2\n", "2:4 yaml_syntax", "not closed"},
		"open map":                 {"a: {b: 1\n", "1:4 yaml_syntax", "not closed"},
		"open quote":               {"a: 1\nb: 'x\nc: 2\n", "2:4 yaml_syntax", "never closed"},
		"bad escape":               {`a: "x\q"` + "\n", "1:6 yaml_syntax", "no such escape"},
		"no anchor":                {"a: 1\nb: *nope\n", "2:4 yaml_syntax", "no anchor &nope"},
		"no colon":                 {"a: 1\nb\nc: 2\n", "2:1 yaml_syntax", "colon"},
		"bare template":            {"a: 1\nb: {{ .x }} y\nc: 2\n", "2:4 yaml_syntax", "template without quotes"},
		"two documents":            {"a: 1\n---\nb: 2\n", "3:1 multiple_documents", "second document"},
		"latin-1":                  {"a: 1\nb: \"caf\xe9\"\n", "2:8 not_utf8", "not UTF-8"},
		"alias in itself":          {"a: &x\n  b: *x\n", "2:6 alias_loop", "*x stands inside &x"},
		"alias bomb":               {bomb(), "1:1 alias_expansion", "its aliases expand them to more than"},
		"merge bomb":               {mergeBomb(), "1:1 alias_expansion", "its aliases expand them to more than"},
		"broken second document":   {"a: 1\n---\nb: c: d\n", "3:5 yaml_syntax", "second colon"},
		"too large":                {strings.Repeat("#", MaxSize+1), "0:0 file_too_large", "at most"},
		"wide characters":          {"名字: 库存: 2\n", "1:7 yaml_syntax", "second colon"},
		"lines of other alphabets": {"a: 1\u2028b: c: d\n", "2:5 yaml_syntax", "second colon"},
	} {
		t.Run(name, func(t *testing.T) {
			f, problems := Parse("f.yaml", []byte(c.src))
			if f != nil || len(problems) != 1 {
				t.Fatalf("file %v, problems %v", f, problems)
			}
			p := problems[0]
			if got := fmt.Sprintf("%d:%d %s", p.Line, p.Col, p.Code); got != c.want || !strings.Contains(p.Message, c.message) {
				t.Errorf("got %s %q, want %s %q", got, p.Message, c.want, c.message)
			}
		})
	}
}

// bomb is nine levels of lists that each repeat the one before ten times.
func bomb() string {
	var b strings.Builder
	b.WriteString("l0: &l0 [1, 2, 3]\n")
	for i := 1; i <= 9; i++ {
		fmt.Fprintf(&b, "l%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 10), ", "))
	}
	return b.String()
}

// mergeBomb merges a large map very often.
func mergeBomb() string {
	return "a: &a {" + strings.Repeat("k: 1, ", 20_000) + "}\nb: {<<: [" + strings.Repeat("*a, ", 20_000) + "]}\n"
}

// manyMerges has its merge keys before most of the nodes that raise the limit of its weight.
func manyMerges() string {
	var fields strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&fields, "k%d: %d, ", i, i)
	}
	return "a: &a {" + fields.String() + "}\nmerged:\n" + strings.Repeat("  - <<: *a\n", 100) + "others: [" + strings.Repeat("1, ", 30_000) + "]\n"
}

func TestParseAccepts(t *testing.T) {
	for name, c := range map[string]struct{ src, path, want string }{
		"nothing":         {"", "", ""},
		"comments":        {"# only\n", "", ""},
		"byte order mark": {"\ufeffa: 1\n", "a", "1"},
		"carriage return": {"a: 1\r\nb: x\r\n", "b", "x"},
		"alias":           {"a: &x {b: 1}\nc: *x\n", "c.b", "1"},
		"merge key":       {"a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  b: 3\n", "d.c", "2"},
		"own field wins":  {"a: &x {b: 1, c: 2}\nd:\n  b: 3\n  <<: *x\n", "d.b", "3"},
		"first of merges": {"a: &x {b: 1}\nc: &y {b: 2}\nd: {<<: [*y, *x]}\n", "d.b", "2"},
		"a quoted <<":     {"d: {'<<': 1}\n", "d.<<", "1"},
		"many merges":     {manyMerges(), "merged[99].k999", "999"},
		"list":            {"d: [{e: 1}, {e: 2}]\n", "d[1].e", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := parse(t, c.src).Root.Walk(c.path)
			if n == nil || n.Text != c.want {
				t.Errorf("%s: %+v, want %q", c.path, n, c.want)
			}
		})
	}
}

func TestSnippetAndCaret(t *testing.T) {
	long := "key: [" + strings.Repeat("库存, ", 200) + "x]\n"
	file := parse(t, long)
	p := file.Problem(file.Root.Get("key").Items[150], "c", "m", "h")
	lines := strings.Split(p.String(), "\n")
	if n := utf8.RuneCountInString(lines[1]); n > 170 {
		t.Errorf("a line of %d characters is shown", n)
	}
	if at := []rune(p.Snippet)[p.Caret-1]; at != '库' {
		t.Errorf("the caret marks %q", at)
	}
	if p.Col != 7+150*4 {
		t.Errorf("col %d", p.Col)
	}
}

// Characters that no text may have are refused with their place, in the file and as an escape. The field decides
// whether a text may have line breaks.
func TestTextsFollowThePolicy(t *testing.T) {
	type fields struct {
		Name  string            `yaml:"name"`
		Words string            `yaml:"words" text:"lines"`
		Seen  string            `yaml:"seen" text:"raw"`
		Map   map[string]string `yaml:"map"`
		Long  []string          `yaml:"long" text:"lines"`
		Any   anything          `yaml:"any" text:"lines"`
		Part  *struct {
			Name string `yaml:"name"`
		} `yaml:"part" text:"lines"`
	}
	for src, want := range map[string]string{
		"words: |\n  one\n  \ttwo\n":                  "",
		"words: |\r\n  one\r\n  two\r\nname: x\r\n":   "",
		`{words: "a\nb\tc", long: ["\n"], any: "\n"}`: "",
		`seen: "\0\x1b\u202e\x85"`:                    "",
		"name: \u200e\u200f\u200d 货位":                 "",
		"# a comment \u202e\nname: x":                 "1:13: bad_text: the file has U+202E (RIGHT-TO-LEFT OVERRIDE) here",
		"name: x\nseen: \x00":                         "2:7: bad_text: the file has U+0000 (NULL) here",
		"name: 货位\x7f":                                "1:9: bad_text: the file has U+007F (DELETE) here",
		"name: a\u0085b":                              "1:8: bad_text: the file has U+0085 (NEXT LINE) here",
		"name: a\rseen: b":                            "1:8: bad_text: the file has U+000D (CARRIAGE RETURN) here",
		`name: "a\u0000"`:                             "1:7: bad_text: name: it has U+0000 (NULL) at character 2",
		`{words: "a\u2066"}`:                          "1:9: bad_text: words: it has U+2066",
		`name: "a\nb"`:                                "1:7: bad_text: name: it has U+000A (LINE FEED) at character 2; the text must be one line",
		"name: >\n  folded\n":                         "1:7: bad_text: name: it has U+000A (LINE FEED) at character 7; the text must be one line",
		"name: >-\n  folded\n":                        "",
		`map: {a: "\t"}`:                              "1:10: bad_text: map.a: it has U+0009 (TAB)",
		`map: {"a\x01": b}`:                           "1:7: bad_text: a name in map: it has U+0001 (START OF HEADING)",
		`{long: [a, "\e"]}`:                           "1:12: bad_text: long[1]: it has U+001B (ESCAPE)",
		`any: "\x9b"`:                                 "1:6: bad_text: any: it has U+009B",
		`part: {name: "\n"}`:                          "1:14: bad_text: name: it has U+000A",
		"- &a \"\\x01\"\n- *a":                        "1:1: wrong_type",
	} {
		f, problems := Parse("t.yaml", []byte(src))
		if len(problems) == 0 {
			problems = f.Decode(f.Root, new(fields))
		}
		got := ""
		if len(problems) > 0 {
			got = fmt.Sprintf("%d:%d: %s: %s", problems[0].Line, problems[0].Col, problems[0].Code, problems[0].Message)
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s\nwant %s", src, got, want)
		}
	}
	// Every character, in the file and as an escape.
	for r := rune(0); r <= 0x20ff; r++ {
		refused := text.Refused(r) && r != '\n' && r != '\t'
		for _, src := range []string{"words: \"a" + string(r) + "b\"", fmt.Sprintf(`words: "a\U%08Xb"`, r)} {
			f, problems := Parse("t.yaml", []byte(src))
			if len(problems) == 0 {
				problems = f.Decode(f.Root, new(fields))
			}
			if r == '"' || r == '\\' {
				continue
			}
			if got := len(problems) > 0 && problems[0].Code == CodeText; got != refused {
				t.Errorf("%+q: %v", src, problems)
			}
		}
	}
}
