package rules

import (
	"strings"
	"testing"
	"time"

	"tallyman/rules/catalog"
	"tallyman/rules/row"
)

var instant = time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC)

// The result of each kind of value in each kind of field, as "kind text". "" means that the value does not fit.
func TestFit(t *testing.T) {
	huge, err := row.ParseDecimal("12345678901234567890.10")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		value row.Value
		want  map[catalog.FieldKind]string
	}{
		"text":         {row.TextOf("a\x00\xff"), map[catalog.FieldKind]string{catalog.String: "text a\x00\uFFFD"}},
		"json":         {row.JSONOf(`{"a":1}`), map[catalog.FieldKind]string{catalog.String: `text {"a":1}`}},
		"int":          {row.IntOf(7), map[catalog.FieldKind]string{catalog.String: "text 7", catalog.Int: "int 7", catalog.Decimal: "decimal 7"}},
		"decimal":      {row.DecimalOf(150, 2), map[catalog.FieldKind]string{catalog.String: "text 1.50", catalog.Decimal: "decimal 1.50"}},
		"huge decimal": {huge, map[catalog.FieldKind]string{catalog.String: "text 12345678901234567890.10", catalog.Decimal: "decimal 12345678901234567890.10"}},
		"float":        {row.FloatOf(0.1), map[catalog.FieldKind]string{catalog.Decimal: "decimal 0.1"}},
		"large float":  {row.FloatOf(1e22), map[catalog.FieldKind]string{catalog.Decimal: "decimal 10000000000000000000000"}},
		"bool":         {row.BoolOf(true), map[catalog.FieldKind]string{catalog.Bool: "bool true"}},
		"time":         {row.TimeOf(instant), map[catalog.FieldKind]string{catalog.Time: "time 2026-06-01T10:00:00Z"}},
		"date":         {row.DateOf(instant), map[catalog.FieldKind]string{catalog.Time: "time 2026-06-01T00:00:00Z"}},
		"duration":     {row.DurationOf(time.Hour), nil},
		"bytes":        {row.BytesOf("x"), nil},
		"null": {row.Value{}, map[catalog.FieldKind]string{
			catalog.String: "null ", catalog.Int: "null ", catalog.Decimal: "null ", catalog.Bool: "null ", catalog.Time: "null ",
		}},
	} {
		for _, kind := range []catalog.FieldKind{catalog.String, catalog.Int, catalog.Decimal, catalog.Bool, catalog.Time} {
			got := ""
			if v, err := fit(kind, c.value); err == nil {
				got = v.Kind().String() + " " + v.String()
			}
			if got != c.want[kind] {
				t.Errorf("%s in a field of type %s: %q, want %q", name, kind, got, c.want[kind])
			}
			// A value that fits a row also fits at load. JSON may fit at load and not fit a row.
			if k := c.value.Kind(); (got != "") != Fits(kind, k) && k != row.JSON {
				t.Errorf("%s in a field of type %s: at load %v", name, kind, Fits(kind, k))
			}
		}
	}
}

func TestLongTextIsCut(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 65536), strings.Repeat("x", 65537), strings.Repeat("€", 30000)} {
		v, err := fit(catalog.String, row.TextOf(text))
		if err != nil {
			t.Fatal(err)
		}
		got := v.Text()
		if whole := len(text) <= 65536; (got == text) != whole || len(got) > 65536 || len(got) < 65530 || strings.HasSuffix(got, "…") == whole {
			t.Errorf("%d bytes became %d, to %q", len(text), len(got), got[len(got)-5:])
		}
	}
}

// TestBounded has texts that are not UTF-8: each bad byte may become three.
func TestBounded(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "abcdefghijkl": "abcdefghijkl", "abcdefghijklm": "abcdefghi…", "ab€€€€": "ab€€…", "a\xffb": "a\uFFFDb",
		"a\xffb\xffc\xffd\xff": "a\uFFFDb\uFFFDc…", "a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffb": "a\uFFFDb",
	} {
		if got := bounded(text, 12); got != want || len(got) > 12 {
			t.Errorf("%q becomes %q of %d bytes, want %q", text, got, len(got), want)
		}
	}
}

func TestInitialOf(t *testing.T) {
	for _, c := range []struct {
		kind  row.Kind
		given any
		want  string // Empty: the value does not fit.
	}{
		{row.Int, int64(5), "int 5"},
		{row.Int, 5.5, ""},
		{row.Int, "5", ""},
		{row.Int, true, ""},
		{row.Decimal, int64(5), "decimal 5"},
		{row.Decimal, 0.1, "decimal 0.1"},
		{row.Decimal, "1.50", "decimal 1.50"},
		{row.Decimal, "x", ""},
		{row.Float, int64(5), "float 5"},
		{row.Float, 0.1, "float 0.1"},
		{row.Text, "a", "text a"},
		{row.Text, int64(5), ""},
		{row.Time, "-1h30m", "time 2026-06-01T08:30:00Z"},
		{row.Time, "0", "time 2026-06-01T10:00:00Z"},
		{row.Time, "1h", ""},
		{row.Time, "2026-05-01T00:00:00+02:00", "time 2026-04-30T22:00:00Z"},
		{row.Date, "2026-05-01", "time 2026-05-01T00:00:00Z"},
		{row.Time, int64(5), ""},
		{row.JSON, int64(5), ""},
		{row.JSON, 0.5, ""},
		{row.JSON, "-1h", ""},
		{row.JSON, "a", ""},
		{row.Bool, true, ""},
		{row.Bytes, "x", ""},
	} {
		got := ""
		if v, ok := initialOf(c.kind, c.given); ok {
			at := v.at(instant)
			got = at.Kind().String() + " " + at.String()
		}
		if got != c.want {
			t.Errorf("%v for a column of kind %s: %q, want %q", c.given, c.kind, got, c.want)
		}
		if got == "" && initialHint(c.kind) == "" {
			t.Errorf("no hint for kind %s", c.kind)
		}
	}
}
