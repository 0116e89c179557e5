package strictyaml

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

func TestInsideScalars(t *testing.T) {
	for name, c := range map[string]struct {
		src   string // ^ marks the character; it is taken out before parsing
		value string // up to the marked character
	}{
		"plain":                {"a: x + ^qtty", "x + "},
		"plain, folded":        {"a: x +\n   y + ^qtty\n", "x + y + "},
		"plain, blank line":    {"a: x\n\n   ^y\n", "x\n"},
		"single quotes":        {"a: 'it''s ^x'", "it's "},
		"double quotes":        {`a: "a\tb\"c\u00e9 ^x"`, "a\tb\"cé "},
		"double, folded":       {"a: \"one\n   ^two\"", "one "},
		"double, escaped fold": {"a: \"one\\\n   ^two\"", "one"},
		"literal":              {"a: |\n  SELECT 1\n  FROM ^t\n", "SELECT 1\nFROM "},
		"literal, indented":    {"a: |\n  SELECT\n      ^b\n", "SELECT\n    "},
		"literal, header":      {"a: |2-  # why\n    b\n  ^c\n", "  b\n"},
		"literal, anchored":    {"a: &x |\n  b ^c\n", "b "},
		"folded":               {"a: >\n  one\n  two ^three\n", "one two "},
		"tagged":               {"a: !!str   ^12", ""},
		"wide":                 {"a: '库存 ^x'", "库存 "},
		"at the end":           {"a: qty <^", "qty <"},
		"empty":                {`a: "^"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			at := strings.Index(c.src, "^")
			f := parse(t, strings.Replace(c.src, "^", "", 1))
			n := f.Root.Get("a")
			if !strings.HasPrefix(n.Text, c.value) {
				t.Fatalf("the text is %q", n.Text)
			}
			got := f.inside(n, utf8.RuneCountInString(c.value))
			if want := f.placeAt(at); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// However a text is spelled in the file, each of its characters is found where it stands.
func TestInsideFindsEveryCharacter(t *testing.T) {
	letters := rapid.SliceOf(rapid.RuneFrom([]rune("ab: #'\"\\{}[]&*!|>%@`-é库\n\t,?")))
	styles := []yaml.Style{0, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle, yaml.LiteralStyle, yaml.FoldedStyle}
	rapid.Check(t, func(t *rapid.T) {
		value := string(letters.Draw(t, "text"))
		node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: rapid.SampledFrom(styles).Draw(t, "style")}
		src, err := yaml.Marshal(map[string]*yaml.Node{"a": node})
		if err != nil {
			t.Fatal(err)
		}
		f, problems := Parse("f", src)
		if f == nil {
			t.Skipf("the library does not read what it wrote: %q: %v", src, problems)
		}
		n := f.Root.Get("a")
		before := textPlace{}
		i := 0
		for _, r := range n.Text {
			p := f.inside(n, i)
			i++
			if blank(r) {
				continue
			}
			rest := f.src[f.byteAt(p):]
			if got, _ := utf8.DecodeRuneInString(rest); got != r && got != '\\' {
				t.Fatalf("%q: character %d is %q, found %q at %v", src, i-1, r, got, p)
			}
			if p.line < before.line || p.line == before.line && p.col <= before.col {
				t.Fatalf("%q: character %d at %v is not behind %v", src, i-1, p, before)
			}
			before = p
		}
	})
}

// Whatever the file holds, nothing panics and every problem stands inside it.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"name: x\nlist: [{column: a}]\n", "a: &a [*a]\n", "a: |2\n  x\n", "? [a]\n: b\n", "<<: {name: 1}\n", "a: b: c", "\t", "{", "'", "\"\\",
		"a: 1\n--- b\n", "%YAML 9\n---\n", "!!int x: 5\n", "- \ufeff\n", "a: *\n", "&a : x\n", bomb(), "wait: 99999999999d\nbig: 99999999999999999999\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		file, problems := Parse("f", src)
		if file == nil {
			if len(problems) == 0 {
				t.Fatal("no file and no problem")
			}
		} else {
			var s sample
			problems = file.Decode(file.Root, &s)
			for _, f := range file.Root.Fields {
				for i := range utf8.RuneCountInString(f.Value.Text) + 1 {
					problems = append(problems, file.ProblemIn(f.Value, i, "c", "m", ""))
				}
			}
		}
		lines := newFile("f", strings.TrimPrefix(string(src), "\ufeff"))
		for _, p := range problems {
			if p.Code == CodeTooLarge {
				continue
			}
			if p.Line < 1 || p.Line > len(lines.ends) {
				t.Fatalf("line %d of %d: %v", p.Line, len(lines.ends), p)
			}
			if width := utf8.RuneCountInString(lines.line(p.Line)); p.Col < 1 || p.Col > width+1 {
				t.Fatalf("column %d of %d: %v", p.Col, width, p)
			}
			if got := fmt.Sprint(p.String()); got == "" {
				t.Fatal("a problem without words")
			}
		}
	})
}
