package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"tallyman/internal/strictjson"
)

// order is a value with the usual parts of values from outside.
type order struct {
	Name  string            `json:"name"`
	Count int64             `json:"count,omitempty"`
	Lines []line            `json:"lines,omitempty"`
	Texts map[string]string `json:"texts,omitempty"`
	Free  map[string]any    `json:"free,omitempty"`
	Raw   json.RawMessage   `json:"raw,omitempty"`
}

type line struct {
	SKU string `json:"sku"`
	Ok  *bool  `json:"ok,omitempty"`
}

func TestWhatIsRefusedAndWhere(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"name":"a","Name":"b"}`:                   "Name: unexpected property",
		`{"NAME":"b"}`:                              "NAME: unexpected property",
		`{"name":"a","name":"b"}`:                   "name: the member occurs twice",
		`{"name":"a","\u006eame":"b"}`:              "name: the member occurs twice",
		`{"lines":[{},{"sku":"a","sKU":"b"}]}`:      "lines[1].sKU: unexpected property",
		`{"lines":[{},{"ſku":"b"}]}`:                "lines[1].ſku: unexpected property",
		`{"lines":[{},{"sku":1}]}`:                  "lines[1].sku: the value must not be a number",
		`{"count":"1"}`:                             "count: the value must not be a text",
		`{"texts":{"0":"a","1":"b","0":"c"}}`:       "texts.0: the member occurs twice",
		`{"free":{"a":[{"b":1,"B":2,"b":3}]}}`:      "free.a[0].b: the member occurs twice",
		`{"raw":[0,{"b":1,"b":3}]}`:                 "raw[1].b: the member occurs twice",
		`{"nope` + strings.Repeat("x", 90) + `":1}`: "nope" + strings.Repeat("x", 60) + "…: unexpected property",
		"{\"no\\u0000pe\":1}":                       `"no\x00pe": unexpected property`,
		`{"name":"` + "\xff" + `"}`:                 "name: the text is not valid JSON: invalid UTF-8 at byte 9",
		`{"name":"\ud800"}`:                         "name: the text is not valid JSON: invalid surrogate pair `\\ud800\"}` in string at byte 9",
		`{"name":"a"} {}`:                           "the text is not valid JSON: invalid character '{' after top-level value at byte 13",
		`{"name"`:                                   "name: the text is not valid JSON: unexpected EOF at byte 7",
		``:                                          "the text is not valid JSON: unexpected EOF at byte 0",
	} {
		var v order
		err := strictjson.Unmarshal([]byte(text), &v)
		if bad, ok := errors.AsType[*strictjson.Error](err); !ok || bad.Error() != want {
			t.Errorf("%s\n     %v\nwant %s", text, err, want)
		}
	}
	for _, text := range []string{`{"name":"a","texts":{"a":"1","A":"2"},"free":{"b":1,"B":{"b":2}},"raw":{"c":[],"C":1}}`, `null`, ` {} `} {
		var v order
		if err := strictjson.Unmarshal([]byte(text), &v); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzUnmarshal compares the strict decoder with encoding/json. A value that the strict decoder takes is one value, and
// encoding/json reads it in the same way. For a value that it refuses because of its syntax, encoding/json fails too,
// or the test finds the fault itself.
func FuzzUnmarshal(f *testing.F) {
	for _, text := range []string{
		`{"name":"a","count":1,"lines":[{"sku":"x","ok":true}],"texts":{"a":"b"},"free":{"a":{"b":[1,2.5e3,null]}},"raw":{"x":[]}}`,
		`{"name":"a","Name":"b"}`, `{"name":"a","\u006eame":"b"}`, `{"free":{"a":1,"a":2}}`, `{"raw":{"a":1,"a":2}}`, `{"count":1e400}`, `{"count":01}`,
		`{"name":"\ud800"}`, `{"name":"\ud83d\ude00"}`, "{\"name\":\"\xff\"}", `{"name":"�"}`, `{"name":null}`, `[]`, `{`, ``, ` `, `[-]`, `1.`, `--1`, `nul`, `[1,]`,
		`{"a":1,}`, `{1:2}`, `[1 2]`, `1 1`, `"\u12"`, `"\'"`, "\"\x01\"", "\"\x7f\"", "\x00", "\v1", "1\f", "\ufeff1",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		reason := why(text)
		if err := strictjson.Check(text); (err == nil) != (reason == "") {
			t.Errorf("%q is refused with %v, and the other look finds %q", text, err, reason)
		}
		var got, want order
		err := strictjson.Unmarshal(text, &got)
		if err == nil {
			dec := json.NewDecoder(bytes.NewReader(text))
			dec.DisallowUnknownFields()
			if other := dec.Decode(&want); other != nil || reason != "" || !reflect.DeepEqual(compacted(got), compacted(want)) {
				t.Errorf("%q is read as %+v, by encoding/json as %+v (%v, %s)", text, got, want, other, reason)
			}
			return
		}
		if bad, ok := errors.AsType[*strictjson.Error](err); !ok || bad.Message == "" || bad.Offset < 0 || bad.Offset > int64(len(text)) || !utf8.ValidString(bad.At) {
			t.Errorf("%q: %#v", text, err)
		}
	})
}

// compacted removes spaces, and the difference between missing and empty values, which the two encoders write in
// different ways.
func compacted(o order) order {
	var b bytes.Buffer
	if json.Compact(&b, o.Raw) == nil {
		o.Raw = b.Bytes()
	}
	if string(o.Raw) == "" {
		o.Raw = nil
	}
	return o
}

// why finds with encoding/json why a text is refused. It returns "" where it finds nothing.
func why(text []byte) string {
	if !json.Valid(text) {
		return "no JSON"
	}
	if !utf8.Valid(text) {
		return "no UTF-8"
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for {
		before := dec.InputOffset()
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if s, ok := token.(string); ok && strings.Contains(s, "\ufffd") {
			raw := string(text[before:dec.InputOffset()])
			if strings.Count(s, "\ufffd") != strings.Count(raw, "\ufffd")+strings.Count(strings.ToLower(raw), `\ufffd`)-strings.Count(strings.ToLower(raw), `\\ufffd`) {
				return "half a character"
			}
		}
	}
	if twice(json.RawMessage(bytes.TrimSpace(text))) {
		return "twice"
	}
	return ""
}

// twice tells whether an object in the value has a member twice.
func twice(value json.RawMessage) bool {
	dec := json.NewDecoder(bytes.NewReader(value))
	open, err := dec.Token()
	if delim, ok := open.(json.Delim); err != nil || !ok || delim != '{' && delim != '[' {
		return false
	}
	seen := map[string]bool{}
	for dec.More() {
		if open == json.Delim('{') {
			name, err := dec.Token()
			text, ok := name.(string)
			if err != nil || !ok || seen[text] {
				return true
			}
			seen[text] = true
		}
		var inner json.RawMessage
		if dec.Decode(&inner) != nil || twice(inner) {
			return true
		}
	}
	return false
}

// encoding/json stops at values that are nested too deeply.
func TestDepth(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{1, 100, 4_999, 5_000, 10_000, 10_001, 30_000} {
		nested := []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
		var into bytes.Buffer
		if got, want := strictjson.Check(nested) == nil, json.Compact(&into, nested) == nil; got != want {
			t.Errorf("%d levels are taken: %t; encoding/json takes them: %t", depth, got, want)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	notice := []byte(`{"id":"n_ykllwcbtvbqiht3yyne4nfpzzu","type":"REP_NOTICE","typeId":124719,"warehouse":"119240","rule":"negative-bin-stock",` +
		`"scope":"119240","key":"[119240,\"A-01\",\"S1\"]","episode":"1780272600000000","status":"firing","priority":3,"modal":"popup",` +
		`"title":"Bin A-01 is at -3","body":"S1 in A-01 went to -3 in wave 77. Replenish <it> & go.","data":{"bin":"A-01","sku":"S1","qty":"-3"},` +
		`"labels":{"area":"replenishment"},"count":1,"createdAt":"2026-06-01T00:10:00Z","expiresAt":"2026-06-02T00:10:00Z"}`)
	for name, text := range map[string][]byte{"text": []byte(`"` + strings.Repeat("x", 298) + `"`), "notice": notice} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := strictjson.Check(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
