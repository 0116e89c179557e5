package body_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"pgregory.net/rapid"

	"tallyman/internal/api/body"
	"tallyman/internal/strictjson"
	"tallyman/internal/text"
)

// order has all that the schemas of bodies have.
type order struct {
	Name     string            `json:"name" minLength:"1" maxLength:"8"`
	Code     string            `json:"code,omitempty" pattern:"^[A-Z]{2}$"`
	Kind     string            `json:"kind,omitempty" enum:"slow,fast"`
	Priority int               `json:"priority,omitempty" minimum:"1" maximum:"5"`
	Weight   float64           `json:"weight,omitempty" maximum:"99.5"`
	Gift     bool              `json:"gift,omitempty"`
	At       *time.Time        `json:"at,omitempty"`
	Lines    []line            `json:"lines" minItems:"1" maxItems:"3" nullable:"false"`
	Labels   map[string]string `json:"labels,omitempty" maxProperties:"2"`
	Data     map[string]any    `json:"data,omitempty"`
	Note     *note             `json:"note,omitempty"`
	Payload  payload           `json:"payload,omitzero"`
}

type line struct {
	SKU   string `json:"sku" maxLength:"4"`
	Bin   string `json:"bin,omitempty" digits:"true"`
	Turn  string `json:"turn,omitempty" digits:"decimal"`
	Notes []note `json:"notes,omitempty"`
}

type note struct {
	Text string `json:"text" text:"lines"`
}

type payload struct{ json.RawMessage }

func (payload) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

func orderSchema(t testing.TB) (huma.Registry, *huma.Schema, *body.Schema) {
	t.Helper()
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	schema := registry.Schema(reflect.TypeFor[order](), true, "")
	body.MarkDigits(registry)
	compiled, err := body.Compile(registry, schema)
	if err != nil {
		t.Fatal(err)
	}
	return registry, schema, compiled
}

func TestFaultsOfABody(t *testing.T) {
	t.Parallel()
	_, _, schema := orderSchema(t)
	const lines = `"lines":[{"sku":"a"}]`
	for text, want := range map[string]string{
		`{"name":"a",` + lines + `}`: "",
		`{"name":"a","labels":{"a":"1","A":"2"},"data":{"x":null,"X":[{"x":1}]},"payload":{"p":1},"weight":1e1,"note":null,"code":null,` + lines + `}`: "",
		`{"name":"库库库库库库库库","code":"AB","kind":"fast","priority":5,"gift":true,"at":"2026-06-01T08:00:00.5+08:00",` + lines + `}`:                      "",

		`{"Name":"a",` + lines + `}`:                                    "body.Name: unexpected property: names match exactly, this one is name; body: expected required property name to be present",
		`{"name":"a","lines":[{"sku":"a","notes":[{"Text":""}]}]}`:      "body.lines[0].notes[0].Text: unexpected property: names match exactly, this one is text; body.lines[0].notes[0]: expected required property text to be present",
		`{"name":"a","x":{"x":1},` + lines + `}`:                        "body.x: unexpected property",
		`{"name":"","lines":[]}`:                                        "body.name: expected length >= 1; body.lines: expected array length >= 1",
		`{"name":"库库库库库库库库库",` + lines + `}`:                            "body.name: expected length <= 8",
		`{"name":"a","lines":[{"sku":1},{"sku":"abcde"},[]]}`:           "body.lines[0].sku: expected string; body.lines[1].sku: expected length <= 4; body.lines[2]: expected object",
		`{"name":"a","lines":[{},{},{},{},{"sku"}`:                      "body.lines[0]: expected required property sku to be present; body.lines[1]: expected required property sku to be present; body.lines[2]: expected required property sku to be present; body.lines[3]: expected required property sku to be present; body.lines: expected array length <= 3",
		`{"name":"a","lines":{}}`:                                       "body.lines: expected array",
		`{"name":"a","lines":null}`:                                     "body.lines: expected array",
		`{"name":"a","lines":[null]}`:                                   "body.lines[0]: expected object",
		`{"name":"a","labels":{"a":"1","b":"2","c":"3"},` + lines + `}`: "body.labels: expected object with at most 2 properties",
		`{"name":"a","labels":{"a":1},` + lines + `}`:                   "body.labels.a: expected string",
		`{"name":"a","code":"ab","kind":"FAST","priority":6,"weight":100,"gift":1,"at":"now",` + lines + `}`: "body.code: expected string to match pattern ^[A-Z]{2}$; " +
			`body.kind: expected value to be one of "slow, fast"; body.priority: expected number <= 5; body.weight: expected number <= 99.5; body.gift: expected boolean; body.at: expected string to be RFC 3339 date-time`,
		`{"name":"a","priority":1.0,` + lines + `}`:                  "body.priority: expected integer",
		`{"name":"a","priority":0,` + lines + `}`:                    "body.priority: expected number >= 1",
		`{"name":"a","priority":99999999999999999999,` + lines + `}`: "body.priority: expected integer",
		`{"name":"a","data":{"x":[0,{"y":1,"y":2}]},` + lines + `}`:  "body.data.x[1].y: the member occurs twice",
		`{"name":"a","payload":{"y":1,"y":2},` + lines + `}`:         "body.payload.y: the member occurs twice",
		`{"name":"a","\u006eame":"b",` + lines + `}`:                 "body.name: the member occurs twice",
		`{"name":"a",` + lines + `} x`:                               "body: the text is not valid JSON: invalid character 'x' at start of value at byte 35",
		`{"name":"a",` + lines + `} {}`:                              "body: the body is not JSON: something follows the value",
		`{"name":"` + "\xff" + `",` + lines + `}`:                    "body.name: the text is not valid JSON: invalid UTF-8 at byte 9",
		`{"name":"a"`: "body: the text is not valid JSON: unexpected EOF at byte 11",
		`[]`:          "body: expected object",
		`null`:        "body: expected object",
		``:            "body: the body is not JSON: EOF",
	} {
		var got []string
		for _, f := range schema.Check([]byte(text)) {
			got = append(got, f.At+": "+f.Message)
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s\n     %s\nwant %s", text, strings.Join(got, "; "), want)
		}
	}
	faulty := `{"name":"a",` + lines + `,"data":1` + strings.Repeat(`,"x`, 1)
	for i := range 3 * body.MostFaults {
		faulty += strings.Repeat("x", i) + `":1,"y`
	}
	if got := schema.Check([]byte(faulty)); len(got) != body.MostFaults {
		t.Errorf("%d faults are told", len(got))
	}
}

// TestWhatIsNotChecked has schemas with words that Check does not look at: they cannot be compiled.
func TestWhatIsNotChecked(t *testing.T) {
	t.Parallel()
	one := 1.0
	for want, s := range map[string]*huma.Schema{
		"oneOf":             {OneOf: []*huma.Schema{{}}},
		"exclusiveMinimum":  {Type: huma.TypeInteger, ExclusiveMinimum: &one},
		"multipleOf":        {Type: huma.TypeInteger, MultipleOf: &one},
		"uniqueItems":       {Type: huma.TypeArray, UniqueItems: true, Items: &huma.Schema{}},
		"format email":      {Type: huma.TypeString, Format: "email"},
		"enum of a integer": {Type: huma.TypeInteger, Enum: []any{1}},
	} {
		_, err := body.Compile(nil, &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"a": s}})
		if err == nil || err.Error() != "body.a: bodies are not checked for "+want {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// FuzzCheck has any body: it is refused with faults that have places, or it is as the library's own validation has it, and as the form says when
// it is decoded.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{
		`{"name":"a","code":"AB","kind":"slow","priority":1,"weight":-1.5e3,"gift":false,"at":"2026-06-01T08:00:00Z","lines":[{"sku":"a","notes":[{"text":""}]}],` +
			`"labels":{"a":"b"},"data":{"a":[1,{"b":null}]},"note":{"text":"x"},"payload":[{}]}`,
		`{"name":"a","Name":"b","lines":[{"sku":"a"}]}`, `{"name":"a","lines":[{"sku":"a","ſku":"b"}]}`, `{"name":"a","name":"b","lines":[{"sku":"a"}]}`,
		`{"name":"a","lines":[{"sku":"a"},{"sku":"a"},{"sku":"a"},{"sku":"a"}]}`, `{"name":"a","lines":[{"sku":"a"}],"priority":1.0}`, `{"name":"\ud800","lines":[]}`,
		`[]`, `null`, ``, `{`, `{}{}`, strings.Repeat(`{"data":`, 50), strings.Repeat("[", 50),
	} {
		f.Add([]byte(text))
	}
	registry, schema, compiled := orderSchema(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		faults := compiled.Check(text)
		if len(faults) > body.MostFaults || len(faults) > 1 && faults[0].Syntax {
			t.Errorf("%d faults, the first of the syntax: %t", len(faults), faults[0].Syntax)
		}
		for _, fault := range faults {
			if !strings.HasPrefix(fault.At, "body") || fault.Message == "" || !utf8.ValidString(fault.At) {
				t.Errorf("%q: %+v", text, fault)
			}
		}
		var o order
		err := strictjson.Unmarshal(text, &o)
		if len(faults) > 0 {
			if _, isSyntax := err.(*strictjson.Error); faults[0].Syntax && !isSyntax { //nolint:errorlint // the decoder's own
				t.Errorf("%q is no JSON here (%+v), and is decoded as %+v", text, faults[0], o)
			}
			return
		}
		if err != nil {
			t.Errorf("%q is fine, and cannot be decoded: %v", text, err)
			return
		}
		var tree any
		if err := json.Unmarshal(text, &tree); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		var res huma.ValidateResult
		huma.Validate(registry, schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, tree, &res)
		if len(res.Errors) > 0 {
			t.Errorf("%q is fine, and the library says %v", text, res.Errors)
		}
		length := utf8.RuneCountInString(o.Name)
		if length < 1 || length > 8 || len(o.Lines) < 1 || len(o.Lines) > 3 || o.Priority < 0 || o.Priority > 5 || len(o.Labels) > 2 || o.Weight > 99.5 {
			t.Errorf("%q is fine, and is decoded as %+v", text, o)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	registry, schema, compiled := orderSchema(b)
	text := []byte(`{"name":"a","code":"AB","kind":"slow","priority":1,"weight":-1.5e3,"gift":false,"at":"2026-06-01T08:00:00Z","lines":[{"sku":"a","notes":[{"text":""}]}],` +
		`"labels":{"a":"b"},"data":{"a":[1,{"b":null}]},"note":{"text":"x"},"payload":[{}]}`)
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if len(compiled.Check(text)) > 0 {
				b.Fatal("it has faults")
			}
		}
	})
	b.Run("library", func(b *testing.B) { // decoded into a tree, as its validation needs it
		b.ReportAllocs()
		for b.Loop() {
			var tree any
			if err := json.Unmarshal(text, &tree); err != nil {
				b.Fatal(err)
			}
			var res huma.ValidateResult
			huma.Validate(registry, schema, huma.NewPathBuffer(make([]byte, 0, 128), 0), huma.ModeWriteToServer, tree, &res)
		}
	})
}

// Texts are held to the policy wherever they stand, as text.CheckJSON holds them, which reads the types instead of the schema.
func TestTextsOfABody(t *testing.T) {
	t.Parallel()
	_, _, schema := orderSchema(t)
	words := []string{"", "a", "\n", "\t", "\r\n", "\r", "\x00", "\x1b", "\x7f", "\u0085", "\u202e", "\u2069", "\u200d\u200e", "货"}
	rapid.Check(t, func(t *rapid.T) {
		word := func(what string) string { return rapid.SampledFrom(words).Draw(t, what) }
		name := func(what string) string { return strings.Trim(word(what), "\u200d\u200e") } // the two write a name that cannot be seen each in its way
		v := map[string]any{
			"name": "n" + word("name"), "lines": []any{map[string]any{"sku": word("sku"), "notes": []any{map[string]any{"text": word("line")}}}},
			"labels": map[string]any{"l" + name("label"): word("label text")}, "data": map[string]any{"d": []any{word("data"), map[string]any{"m" + name("member"): word("free")}}},
			"note": map[string]any{"text": word("note")}, "payload": map[string]any{"p": word("payload")},
		}
		src, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "escaped") {
			src = text.EscapeJSON(src)
		}
		want := text.CheckJSON(src, reflect.TypeFor[order]())
		var got *body.Fault
		for _, f := range schema.Check(src) {
			if f.Text && got == nil {
				got = &f
			}
		}
		switch {
		case (want == nil) != (got == nil):
			t.Fatalf("%s: %v, want %v", src, got, want)
		case want != nil && (got.Message != want.Fault.Error() || !strings.HasPrefix(got.At, "body."+want.Path)):
			t.Fatalf("%s: at %s %s, want %v", src, got.At, got.Message, want)
		}
	})
}

// TestNumbersThatStandForTexts: only where the form says so; for names digits alone.
func TestNumbersThatStandForTexts(t *testing.T) {
	t.Parallel()
	_, _, schema := orderSchema(t)
	for text, want := range map[string]string{
		`{"name":"a","lines":[{"sku":"a","bin": 119240 },{"sku":"b","bin":0},{"sku":"c","bin":"7"}]}`: `{"name":"a","lines":[{"sku":"a","bin": "119240" },{"sku":"b","bin":"0"},{"sku":"c","bin":"7"}]}`,
		`{"name":"a","lines":[{"sku":"a","bin":12345678901234567890123}]}`:                            `{"name":"a","lines":[{"sku":"a","bin":"12345678901234567890123"}]}`,
		`{"name":1,"lines":[{"sku":"a"}]}`:                                                            "body.name: expected string",
		`{"name":"a","lines":[{"sku":"a","bin":1.5},{"sku":"a","bin":-1},{"sku":"a","bin":1e3}]}`:     "body.lines[0].bin: expected string body.lines[1].bin: expected string body.lines[2].bin: expected string",
		`{"name":"a","lines":[{"sku":"a","turn":-7.25},{"sku":"b","turn":7}]}`:                        `{"name":"a","lines":[{"sku":"a","turn":"-7.25"},{"sku":"b","turn":"7"}]}`,
		`{"name":"a","lines":[{"sku":"a","turn":1e3}]}`:                                               "body.lines[0].turn: expected string",
		`{"name":"a","lines":[{"sku":"a","bin":true}]}`:                                               "body.lines[0].bin: expected string",
	} {
		body, faults := schema.Read([]byte(text))
		got := string(body)
		if len(faults) > 0 {
			var list []string
			for _, f := range faults {
				list = append(list, f.At+": "+f.Message)
			}
			got = strings.Join(list, " ")
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
