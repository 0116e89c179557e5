package text_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tallyman/internal/text"
)

// refusedByTheIssue states the policy independently of the code: by Unicode's category, and by the two ranges.
func refusedByTheIssue(r rune) bool {
	return unicode.Is(unicode.Cc, r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

func TestCheckTakesWhatThePolicySays(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xd800 && r <= 0xdfff {
			continue
		}
		s := "Bin " + string(r) + " A"
		breaks := r == '\n' || r == '\t'
		if got, want := text.Check(s, text.Line) != nil, refusedByTheIssue(r); got != want {
			t.Fatalf("%U in a line: refused %v, want %v", r, got, want)
		}
		if got, want := text.Check(s, text.Lines) != nil, refusedByTheIssue(r) && !breaks; got != want {
			t.Fatalf("%U in lines: refused %v, want %v", r, got, want)
		}
	}
	for _, s := range []string{"a\u200db", "a\u200cb", "\u200e\u200f", "\u2028\u2029", "\u00a0", "货位", "🏳️‍🌈", "", "\ufffd"} {
		if f := text.Check(s, text.Line); f != nil {
			t.Errorf("%+q: %v", s, f)
		}
	}
	for _, s := range []string{"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "a\r", "\ra", "\r\r\n", "\n\r"} {
		if f := text.Check(s, text.Lines); f == nil {
			t.Errorf("%+q is taken", s)
		}
	}
	if f := text.Check("one\r\ntwo", text.Lines); f != nil {
		t.Errorf("lines of Windows: %v", f)
	}
}

func TestFaultSaysWhatAndWhere(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"货位\x00":       "it has U+0000 (NULL) at character 3; no text may have this character",
		"\x9b is no A": "it has the byte 0x9B, which is no UTF-8, at character 1; no text may have this character",
		"ab\u009b":     "it has U+009B (CONTROL SEQUENCE INTRODUCER) at character 3; no text may have this character",
		"a\u202eb":     "it has U+202E (RIGHT-TO-LEFT OVERRIDE) at character 2; no text may have this character",
		"a\u2069":      "it has U+2069 (POP DIRECTIONAL ISOLATE) at character 2; no text may have this character",
		"a\nb":         "it has U+000A (LINE FEED) at character 2; the text must be one line",
	} {
		if got := text.Check(s, text.Line).Error(); got != want {
			t.Errorf("%+q: %s\nwant %s", s, got, want)
		}
	}
	if f := text.Check("货\x00", text.Line); f.Offset != 3 || f.Place != 2 {
		t.Errorf("at byte %d, character %d", f.Offset, f.Place)
	}
}

func TestVisible(t *testing.T) {
	for s, want := range map[string]string{
		"Bin A-01\n\tis at -3": "Bin A-01\n\tis at -3", "a\x00b\x1b[31m": "a[U+0000]b[U+001B][31m", "\u0085\u009f\x7f": "[U+0085][U+009F][U+007F]",
		"\u202eabc\u2066": "[U+202E]abc[U+2066]", "\xff\xfe!": "\ufffd\ufffd!", "one\r\ntwo\rthree": "one\ntwo[U+000D]three", "\ufffe": "[U+FFFE]", "a\u200db": "a\u200db",
	} {
		if got := text.Visible(s); got != want {
			t.Errorf("%+q: %+q, want %+q", s, got, want)
		}
	}
	if got := text.VisibleLine("a\r\n\tb\x00"); got != "a  b[U+0000]" {
		t.Errorf("%+q", got)
	}
	clean := strings.Repeat("Bin A-01 货位\n", 100)
	if n := testing.AllocsPerRun(100, func() { _ = text.Visible(clean) }); n != 0 {
		t.Errorf("a clean text costs %v allocations", n)
	}
}

func TestWriterTakesTextsInParts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.SampledFrom([]rune("a货\x00\u0085\u202e\r\n\ufffd🦀"))).Draw(t, "text") + rapid.SampledFrom([]string{"", "\xff", "\xe8\xb4", "\r"}).Draw(t, "end")
		var b bytes.Buffer
		w := text.NewWriter(&b)
		for rest := s; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "part")
			if took, err := w.Write([]byte(rest[:n])); took != n || err != nil {
				t.Fatalf("%d of %d bytes, %v", took, n, err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got, want := b.String(), text.Visible(s); got != want {
			t.Fatalf("%+q, want %+q", got, want)
		}
	})
}

func TestVisibleIn(t *testing.T) {
	t.Parallel()
	type kind string
	type inner struct {
		Name   kind
		hidden string
	}
	type form struct {
		Title string
		List  []inner
		Pair  [2]string
		Map   map[string]*inner
		Any   any
		Raw   json.RawMessage
		None  *inner
		N     int
	}
	in := form{
		Title: "a\x00", List: []inner{{Name: "ok"}, {"\u202e", "\x00"}}, Pair: [2]string{"", "\x7f"}, Map: map[string]*inner{"k\x01": {Name: "v\x02"}}, Any: []any{"\x03", 1},
		Raw: json.RawMessage("\"\u0085\""), N: 7,
	}
	want := form{
		Title: "a[U+0000]", List: []inner{{Name: "ok"}, {"[U+202E]", "\x00"}}, Pair: [2]string{"", "[U+007F]"}, Map: map[string]*inner{"k[U+0001]": {Name: "v[U+0002]"}},
		Any: []any{"[U+0003]", 1}, Raw: json.RawMessage(`"\u0085"`), N: 7,
	}
	before := in.List[1].Name
	if diff := cmp.Diff(want, text.VisibleIn(in), cmp.AllowUnexported(inner{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if in.List[1].Name != before || in.Pair[1] != "\x7f" || in.Map["k\x01"] == nil {
		t.Error("the value itself was changed")
	}
	if p := &in; text.VisibleIn(&form{Title: "a"}).(*form).Title != "a" || text.VisibleIn(p).(*form).Title != "a[U+0000]" || text.VisibleIn(nil) != nil {
		t.Error("pointers")
	}
}

type body struct {
	Title string                     `json:"title"`
	Body  string                     `json:"body,omitempty" text:"lines"`
	Texts map[string]body            `json:"texts,omitempty"`
	Notes []string                   `json:"notes" text:"lines"`
	Names map[string]string          `json:"names"`
	Data  map[string]json.RawMessage `json:"data"`
	Any   any                        `json:"any"`
	Next  *body                      `json:"next"`
}

func TestCheckJSON(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`{"title":"Bin A-01 货位 — \"x\" \\ \/"}`:           "",
		`{"title":"a\u0000"}`:                             "title: it has U+0000 (NULL) at character 2; no text may have this character",
		`{"title":"a\nb"}`:                                "title: it has U+000A (LINE FEED) at character 2; the text must be one line",
		`{"body":"a\r\n\tb"}`:                             "",
		`{"body":"a\rb"}`:                                 "body: it has U+000D",
		`{"notes":["a\nb","c\u0008"]}`:                    "notes[1]: it has U+0008 (BACKSPACE)",
		`{"names":{"a":"\n"}}`:                            "names.a: it has U+000A",
		`{"names":{"a\n":""}}`:                            "names: it has U+000A",
		`{"texts":{"zh":{"body":"\n","title":"\u202e"}}}`: "texts.zh.title: it has U+202E",
		"{\"texts\":{\"zh\":{\"title\":\"\u202e\"}}}":     "texts.zh.title: it has U+202E",
		"{\"next\":{\"next\":{\"title\":\"\x7f\"}}}":      "next.next.title: it has U+007F",
		`{"data":{"a":"\n","b":[{"c":"\t"},{"c":"\f"}]}}`: "data.b[1].c: it has U+000C",
		`{"data":{"a":{"b\n":1}}}`:                        "data.a: it has U+000A",
		`{"any":[1,true,null,"\n","\u0085"]}`:             "any[4]: it has U+0085 (NEXT LINE)",
		`{"title":"\ud800"}`:                              "title: it has U+D800 (half of a surrogate pair)",
		`{"title":"x\udc00"}`:                             "title: it has U+DC00",
		`{"title":"\ud800\u0041"}`:                        "title: it has U+D800",
		`{"title":"\ud83e\udd80"}`:                        "",
		`{"\ud800":1}`:                                    "it has U+D800",
		"{\"title\":\"\xff\"}":                            "title: it has the byte 0xFF",
		"{\"\xff\":1}":                                    "it has the byte 0xFF",
		`[{"title":"\n"}]`:                                "",
		`{"title":"\u0000"`:                               "title: it has U+0000",
		`{"unknown":"\u0000"}`:                            "unknown: it has U+0000",
		`{"title":"\u202E\u2066"}`:                        "title: it has U+202E",
		`{"title":"\"\\\u0000"}`:                          "title: it has U+0000 (NULL) at character 3",
		`"\u0000"`:                                        "it has U+0000",
		`{"notes":"\u200d\u200e\u200f\u2028"}`:            "",
		`{"title" : "a" , "body" : "b\u0001"}`:            "body: it has U+0001",
		`{"body":"\n","title":{"odd":"\u0001"},"next":7,"names":["\n"]}`: "title.odd: it has U+0001",
		`{"a":"\u00`: "",
	} {
		got := ""
		if f := text.CheckJSON([]byte(src), reflect.TypeFor[*body]()); f != nil {
			got = f.Error()
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%+q: %q, want %q", src, got, want)
		}
	}
	if f := text.CheckJSON([]byte(`{"a":"\n","b":["\u0000"]}`), nil); f == nil || f.Path != "b[0]" {
		t.Errorf("free JSON: %v", f)
	}
}

func TestEscapeJSON(t *testing.T) {
	t.Parallel()
	for r := range rune(0x2100) {
		if utf8.ValidRune(r) {
			was, err := json.Marshal(map[string]string{"a" + string(r): string(r)})
			if err != nil {
				t.Fatal(err)
			}
			got := text.EscapeJSON(slices.Clone(was))
			var back map[string]string
			if err := json.Unmarshal(got, &back); err != nil || back["a"+string(r)] != string(r) {
				t.Errorf("%U: %s, %v", r, got, err)
			}
			if f := text.Check(string(got), text.Line); f != nil {
				t.Errorf("%U: %s has %v", r, got, f)
			}
		}
	}
}

// For any text, the result of Visible passes the check and stays the same in a second Visible. A text that passes the
// check is already visible.
func FuzzPolicy(f *testing.F) {
	for _, s := range []string{"", "Bin A-01", "a\x00b", "\u0085\u009b", "\u202e\u2066\u2069", "\xff\xc2", "\r\n", "\r", "\n\t", "\u200d\u200e\u200f", "\ufffe\uffff", "货位🦀", "[U+0000]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		refused := !utf8.ValidString(s) || strings.ContainsFunc(strings.ReplaceAll(s, "\r\n", "\n"), func(r rune) bool { return refusedByTheIssue(r) && r != '\n' && r != '\t' })
		lines := text.Check(s, text.Lines)
		if (lines != nil) != refused {
			t.Fatalf("%+q: %v", s, lines)
		}
		if line := text.Check(s, text.Line); (line != nil) != (refused || strings.ContainsAny(s, "\n\t")) {
			t.Fatalf("%+q in one line: %v", s, line)
		}
		seen := text.Visible(s)
		if text.Check(seen, text.Lines) != nil || text.Visible(seen) != seen {
			t.Fatalf("%+q is shown as %+q", s, seen)
		}
		if lines == nil && strings.NewReplacer("\r\n", "\n", "\ufffe", "", "\uffff", "").Replace(s) != strings.NewReplacer("[U+FFFE]", "", "[U+FFFF]", "").Replace(seen) && !strings.Contains(s, "[U+FFF") {
			t.Fatalf("%+q needs no mark, and is shown as %+q", s, seen)
		}
		if line := text.VisibleLine(s); text.Check(line, text.Line) != nil || text.VisibleLine(line) != line {
			t.Fatalf("%+q is shown as %+q in one line", s, line)
		}
		checkQuoted(t, s)
	})
}

// checkQuoted holds CheckJSON against Check.
func checkQuoted(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		return
	}
	quoted, err := json.Marshal([]string{s})
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{quoted, text.EscapeJSON(quoted)} {
		got, want := text.CheckJSON(data, reflect.TypeFor[[]any]()), text.Check(s, text.Lines)
		if (got == nil) != (want == nil) || got != nil && (*got.Fault != *want || got.Path != "[0]") {
			t.Fatalf("%s: %v, want %v", data, got, want)
		}
	}
}

func FuzzCheckJSON(f *testing.F) {
	for _, s := range []string{`{"title":"\u0000"}`, `"\ud800"`, `["\ud83e\udd80"]`, `{"a":{"b":["\n"]}}`, "\"\xff\"", `{"a":1}x`, `"\u12"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fault := text.CheckJSON(data, nil)
		var v any
		if json.Unmarshal(data, &v) != nil || fault != nil {
			return
		}
		again, err := json.Marshal(v) // what was taken is no other text for the decoder
		if err != nil {
			t.Fatal(err)
		}
		if fault := text.CheckJSON(again, nil); fault != nil {
			t.Fatalf("%+q is taken, and its value is not: %v", data, fault)
		}
		if !utf8.Valid(data) {
			t.Fatalf("%+q is no UTF-8", data)
		}
	})
}
