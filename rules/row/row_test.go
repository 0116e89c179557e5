package row_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/apd/v3"
	"pgregory.net/rapid"

	"tallyman/rules/row"
)

func decimal(t rapid.TB, s string) row.Value {
	t.Helper()
	v, err := row.ParseDecimal(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestStringAndKey(t *testing.T) {
	shanghai := time.FixedZone("", 8*3600)
	for _, test := range []struct {
		v         row.Value
		text, key string
	}{
		{row.Value{}, "", "null"},
		{row.BoolOf(true), "true", "true"},
		{row.IntOf(math.MinInt64), "-9223372036854775808", "-9223372036854775808"},
		{row.FloatOf(0.1), "0.1", "0.1"},
		{row.FloatOf(math.Copysign(0, -1)), "0", "0"},
		{row.FloatOf(3), "3", "3"},
		{row.FloatOf(1e300), "1e+300", "1e+300"},
		{row.FloatOf(math.NaN()), "NaN", `"NaN"`},
		{row.FloatOf(math.Inf(-1)), "-Infinity", `"-Infinity"`},
		{decimal(t, "12.50"), "12.50", "12.5"},
		{decimal(t, "-0.050"), "-0.050", "-0.05"},
		{decimal(t, "0.00"), "0.00", "0"},
		{decimal(t, "-0.00"), "0.00", "0"},
		{decimal(t, "100"), "100", "100"},
		{decimal(t, "1e3"), "1000", "1000"},
		{decimal(t, "1e30"), "1" + strings.Repeat("0", 30), "1" + strings.Repeat("0", 30)},
		{decimal(t, "-1234567890123456789012.3400"), "-1234567890123456789012.3400", "-1234567890123456789012.34"},
		{decimal(t, "NaN"), "NaN", `"NaN"`},
		{decimal(t, "-Infinity"), "-Infinity", `"-Infinity"`},
		{row.DecimalOf(math.MinInt64, 2), "-92233720368547758.08", "-92233720368547758.08"},
		{row.TextOf("A-01  "), "A-01  ", `"A-01"`},
		{row.TextOf("补货 \"x\"\\\n"), "补货 \"x\"\\\n", `"补货 \"x\"\\\u000a"`},
		{row.TextOf("a\xffb"), "a\uFFFDb", `"a\udcffb"`},
		{row.BytesOf("\x01\xff"), "01ff", `"01ff"`},
		{row.TimeOf(time.Date(2026, 6, 1, 8, 10, 0, 5000, shanghai)), "2026-06-01T00:10:00.000005Z", `"2026-06-01T00:10:00.000005Z"`},
		{row.DateOf(time.Date(2026, 6, 1, 23, 0, 0, 0, shanghai)), "2026-06-01", `"2026-06-01"`},
		{row.DurationOf(90 * time.Minute), "1h30m0s", `"1h30m0s"`},
		{row.JSONOf(`{"b": 1.50, "a": "<"}`), `{"b": 1.50, "a": "<"}`, `{"a":"<","b":1.50}`},
		{row.JSONOf(`broken`), `broken`, `"broken"`},
	} {
		if got := test.v.String(); got != test.text {
			t.Errorf("text %q, want %q", got, test.text)
		}
		if got := string(test.v.AppendKey(nil)); got != test.key {
			t.Errorf("key %s, want %s", got, test.key)
		}
	}
}

func TestOrderOfOtherKinds(t *testing.T) {
	at := time.Date(2026, 6, 1, 0, 0, 0, 1, time.UTC)
	ascending := [][]row.Value{
		{{}, row.BoolOf(false), row.BoolOf(true)},
		{row.TextOf("a"), row.TextOf("ab"), row.TextOf("b")},
		{row.DateOf(at), row.TimeOf(at), row.TimeOf(at.Add(1)), row.TimeOf(at.Add(time.Second - 1))},
		{row.DurationOf(-1), row.DurationOf(0)},
		{decimal(t, "-Infinity"), row.IntOf(math.MinInt64), row.FloatOf(0), row.FloatOf(1e300), decimal(t, "1e301"), row.FloatOf(math.Inf(1)), row.FloatOf(math.NaN())},
	}
	for _, values := range ascending {
		for i, a := range values {
			for j, b := range values {
				got, err := row.Compare(a, b)
				if err != nil || got != min(max(i-j, -1), 1) {
					t.Errorf("%s, %s: %d, %v", a, b, got, err)
				}
			}
		}
	}
	if !row.Equal(decimal(t, "NaN"), row.FloatOf(math.NaN())) || !row.Equal(decimal(t, "Infinity"), row.FloatOf(math.Inf(1))) {
		t.Error("NaN and infinity differ by kind")
	}
	if _, err := row.Compare(row.TextOf("1"), row.IntOf(1)); err == nil || row.Equal(row.TextOf("1"), row.IntOf(1)) {
		t.Error("a text compares with a number")
	}
}

var values = rapid.OneOf(
	rapid.Just(row.Value{}),
	numbers,
	rapid.Map(rapid.Bool(), row.BoolOf),
	rapid.Map(rapid.Float64(), row.FloatOf),
	rapid.Map(rapid.String(), row.TextOf),
	rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) row.Value { return row.TextOf(string(b)) }),
	rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) row.Value { return row.BytesOf(string(b)) }),
	rapid.Map(rapid.Int64(), func(n int64) row.Value { return row.DurationOf(time.Duration(n)) }),
	rapid.Custom(func(t *rapid.T) row.Value {
		return row.TimeOf(time.Unix(rapid.Int64Range(-1e12, 1e12).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")))
	}),
	rapid.Custom(func(t *rapid.T) row.Value {
		return row.DateOf(time.Unix(rapid.Int64Range(-1e12, 1e12).Draw(t, "s"), 0).UTC())
	}),
	rapid.Just(row.JSONOf(`{"a":[1,null]}`)),
	rapid.Just(row.BigDecimalOf(&apd.Decimal{Form: apd.NaN})),
	rapid.Just(row.BigDecimalOf(&apd.Decimal{Form: apd.Infinite, Negative: true})),
	rapid.Just(row.FloatOf(math.Inf(1))),
)

func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values.Draw(t, "value")
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var got row.Value
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if got.Kind() != v.Kind() || !row.Equal(got, v) || got.String() != v.String() {
			t.Fatalf("%s became %s through %s", v, got, data)
		}
	})
}

func TestKeyIsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values.Draw(t, "value")
		key := v.AppendKey(nil)
		if !json.Valid(key) || !utf8.Valid(key) {
			t.Fatalf("%q", key)
		}
		if !utf8.ValidString(v.String()) {
			t.Fatalf("%q", v.String())
		}
		if again := v.Clone().AppendKey(nil); string(again) != string(key) {
			t.Fatalf("%s and %s", again, key)
		}
	})
}

// TestCanonicalKeyKeepsKeys: a key that the API shows is a key that it finds. Texts in a JSON column are keys as texts
// of a text column are.
func TestCanonicalKeyKeepsKeys(t *testing.T) {
	texts := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", " ", "\n", "\t", "\b", "\f", "\x7f", "\u0085", "\u2028", "\u2029", "\u00a0", "\"", "\\", "<&>", "补", "🦀", "\xff", "\ufffd",
		}), 0, 6).Draw(t, "parts"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		v := values.Draw(t, "value")
		if text := texts.Draw(t, "text"); rapid.Bool().Draw(t, "json") {
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			v = row.JSONOf(rapid.SampledFrom([]string{string(quoted), text, `{"b": [` + string(quoted) + `], "a": 1.50}`}).Draw(t, "form"))
			if asText := string(row.TextOf(text).AppendKey(nil)); v.Text() == string(quoted) && utf8.ValidString(text) && string(v.AppendKey(nil)) != asText {
				t.Fatalf("the text %+q has the key %s, in JSON %s", text, asText, v.AppendKey(nil))
			}
		}
		key := "[" + string(v.AppendKey(nil)) + "]"
		if got, ok := row.CanonicalKey(key); !ok || got != key {
			t.Fatalf("%s: the key %s becomes %s, %v", v.Kind(), key, got, ok)
		}
	})
}

func TestUnmarshalRefuses(t *testing.T) {
	for _, s := range []string{`1`, `{"kind":"colour"}`, `{"kind":"int","value":"x"}`, `{"kind":"time","value":"1.5"}`, `{"kind":"time","value":"1.9999999999"}`, `{"kind":"bytes","value":"!","base64":true}`, `{"kind":"decimal","value":""}`} {
		var v row.Value
		if err := json.Unmarshal([]byte(s), &v); err == nil {
			t.Errorf("%s gave %s", s, v)
		}
	}
}

func TestInterface(t *testing.T) {
	at := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		v    row.Value
		want any
	}{
		{row.Value{}, nil},
		{row.BoolOf(true), true},
		{row.IntOf(-3), int64(-3)},
		{row.FloatOf(0.5), 0.5},
		{row.DecimalOf(1250, 2), "12.50"},
		{row.TextOf("a"), "a"},
		{row.TimeOf(at), at},
		{row.DateOf(at), at},
		{row.DurationOf(5), time.Duration(5)},
	} {
		if got := test.v.Interface(); got != test.want {
			t.Errorf("%s: %v", test.v.Kind(), got)
		}
	}
}

// Texts that differ have keys that differ, whatever bytes they have; the key says which.
func TestKeysOfTextsAreDistinct(t *testing.T) {
	texts := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "\\", `\ud83d`, `\udcff`, `\u0000`, "\x00", "\x01", "\x7f", "\u0085", "\u202e", "\xff", "\xfe", "\x80", "\xed\xb3\xbf", "\ufffd", "🦀", "\"", " ", "é", "\xc3",
		}), 0, 6).Draw(t, "parts"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
		keyA, keyB := string(row.TextOf(a).AppendKey(nil)), string(row.TextOf(b).AppendKey(nil))
		if got, want := keyA == keyB, strings.TrimRight(a, " ") == strings.TrimRight(b, " "); got != want {
			t.Fatalf("%+q and %+q: keys %s and %s", a, b, keyA, keyB)
		}
		if back, ok := row.KeyText(keyA); !ok || back != strings.TrimRight(a, " ") {
			t.Fatalf("%+q: %s reads as %+q, %v", a, keyA, back, ok)
		}
		if !json.Valid([]byte(keyA)) || !utf8.ValidString(keyA) || strings.Contains(keyA, "\x00") {
			t.Fatalf("%+q: %+q", a, keyA)
		}
	})
	for key, want := range map[string]string{
		`"\ud83d\udcbc"`: "💼", `"\uD83D\uDCBC\uDCFF"`: "💼\xff", `"\\udcff"`: `\udcff`, `"\ud800x\udc80"`: "\ufffdx\x80", `""`: "",
	} {
		if got, ok := row.KeyText(key); !ok || got != want {
			t.Errorf("%s: %+q, %v", key, got, ok)
		}
	}
	for _, key := range []string{`a`, `"`, `"a`, `1`, ``, `"\udcff`, `"a"b"`, `"\udcff"x"`, `null`} {
		if got, ok := row.KeyText(key); ok {
			t.Errorf("%s is read as %+q", key, got)
		}
	}
	for _, pair := range [][2]string{{`"\ud800"`, `"\ud801"`}, {"\"\xff\"", "\"\xfe\""}, {`{"a":"\udfff"}`, `{"a":"\ufffd"}`}, {`"\u0000"`, `"\u0001"`}, {"\"\u0085\"", "\"\u0086\""}} {
		if a, b := row.JSONOf(pair[0]).AppendKey(nil), row.JSONOf(pair[1]).AppendKey(nil); string(a) == string(b) {
			t.Errorf("%+q and %+q have the key %s", pair[0], pair[1], a)
		}
	}
}
