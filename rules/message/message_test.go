package message

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tallyman/rules/row"
)

var columns = []row.Column{
	{Name: "sku", Kind: row.Text},
	{Name: "lot", Kind: row.Text},
	{Name: "n", Kind: row.Int},
	{Name: "qty", Kind: row.Decimal},
	{Name: "zero", Kind: row.Decimal},
	{Name: "ok", Kind: row.Bool},
	{Name: "w", Kind: row.Float},
	{Name: "at", Kind: row.Time},
	{Name: "day", Kind: row.Date},
	{Name: "doc", Kind: row.JSON},
	{Name: "took", Kind: row.Duration},
	{Name: "gone", Kind: row.Decimal},
}

func sampleRow() *row.Row {
	at := time.Date(2026, 6, 1, 22, 5, 9, 0, time.UTC)
	r := row.New(columns)
	copy(r.Values, []row.Value{
		row.TextOf("ab-1 "),
		{},
		row.IntOf(-3), row.DecimalOf(-12345, 3), row.DecimalOf(0, 2), row.BoolOf(true), row.FloatOf(0.1), row.TimeOf(at), row.DateOf(at),
		row.JSONOf(`{"a":1}`), row.DurationOf(90 * time.Second),
		{},
	})
	return r
}

func shanghai(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func bind(t *testing.T, src string) *Bound {
	t.Helper()
	tmpl, faults := Parse(src)
	if len(faults) > 0 {
		t.Fatalf("%s: %v", src, faults)
	}
	b, faults := tmpl.Bind(columns, shanghai(t))
	if len(faults) > 0 {
		t.Fatalf("%s: %v", src, faults)
	}
	return b
}

func TestRender(t *testing.T) {
	for src, want := range map[string]string{
		"words only":                                            "words only",
		"":                                                      "",
		"{{ .sku }}/{{ .n }}/{{ .qty }}":                        "ab-1 /-3/-12.345",
		"[{{ .lot }}{{ .gone }}]":                               "[]",
		"{{ .zero }} {{ .ok }} {{ .w }}":                        "0.00 true 0.1",
		"{{ .at }} {{ .day }}":                                  "2026-06-01T22:05:09Z 2026-06-01",
		"{{ .doc }} {{ .took }}":                                `{"a":1} 1m30s`,
		"{{- .n -}}  x":                                         "-3x",
		"a{{/* nothing */}}b":                                   "ab",
		"{{ .sku | trim | upper }}":                             "AB-1",
		"{{ lower .sku }}":                                      "ab-1 ",
		"{{ .sku | truncate 2 }}":                               "ab…",
		"{{ .sku | truncate 9 }}":                               "ab-1 ",
		"{{ .gone | truncate 2 }}":                              "",
		`{{ .lot | default "no lot" }}`:                         "no lot",
		`{{ .n | default "none" }}`:                             "-3",
		"{{ .gone | default 0 | round 1 }}":                     "0.0",
		"{{ .qty | round 2 }}":                                  "-12.35",
		"{{ round 0 .qty }} {{ round 1 .n }}":                   "-12 -3.0",
		"{{ .w | round 3 }} {{ .gone | round 2 }}":              "0.100 ",
		`{{ .at | date "YYYY-MM-DD HH:mm:ss" }}`:                "2026-06-02 06:05:09",
		`{{ .day | date "DD.MM.YY" }}`:                          "01.06.26",
		`{{ .gone | default "" }}{{ .at | date "Mon 2 Jan" }}`:  "Mon 2 Jan",
		"{{ if .ok }}y{{ else }}n{{ end }}":                     "y",
		"{{ if .zero }}y{{ else }}n{{ end }}":                   "n",
		"{{ if .qty }}y{{ else }}n{{ end }}":                    "y",
		"{{ if .lot }}y{{ else if .n }}m{{ else }}n{{ end }}":   "m",
		"{{ if not .gone }}none{{ end }}":                       "none",
		"{{ if and .sku .lot }}y{{ else }}n{{ end }}":           "n",
		`{{ if or (eq .sku "x") (lt .n 0) }}y{{ end }}`:         "y",
		"{{ if eq .zero 0 }}y{{ end }}":                         "y",
		"{{ if eq .w 0.1 }}y{{ end }}":                          "y",
		"{{ if lt .qty -12.3449 }}y{{ end }}":                   "y",
		"{{ if lt .gone 5 }}y{{ else }}n{{ end }}":              "n",
		"{{ if ge .gone 5 }}y{{ else }}n{{ end }}":              "n",
		"{{ if ne .gone 5 }}y{{ end }}":                         "y",
		`{{ if eq .lot "" }}y{{ end }}`:                         "y",
		"{{ if eq .n 1 2 -3 }}y{{ end }}":                       "y",
		"{{ if le .n -3 }}{{ if gt .n -4 }}y{{ end }}{{ end }}": "y",
		"{{ if lt .day .at }}y{{ end }}":                        "y",
		"{{ with .lot }}{{ . }}{{ else }}no{{ end }}":           "no",
		"{{ with .sku }}{{ . }}{{ $.n }}{{ end }}":              "ab-1 -3",
		"{{ $x := .qty | round 1 }}{{ $x }}, {{ $x }}":          "-12.3, -12.3",
	} {
		t.Run(src, func(t *testing.T) {
			got, err := bind(t, src).Render(sampleRow())
			if err != nil || got != want {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	for src, want := range map[string]string{
		"x {{ .sku":                        "2 template_syntax unclosed action",
		"x {{ .sku }":                      `10 template_syntax unexpected "}" in operand`,
		"a\nb {{ if .sku }}":               "4 template_syntax the text ends inside an if, with or range",
		"库存 ${sku} {{ .sku }}":             "3 template_syntax ${sku} is not a column: the notice would show it as it is written",
		"{{ .sku }}, ${ .n }":              "12 template_syntax ${ .n } is not a column: the notice would show it as it is written",
		"{{ }}":                            "0 template_syntax missing value for command",
		"库存 {{ upcase .sku }}":             `6 template_function there is no helper "upcase"`,
		"{{ sku }}":                        `3 template_function there is no helper "sku"`,
		`{{ printf "%9999999d" .n }}`:      `3 template_function there is no helper "printf"`,
		`{{ html .sku }}`:                  `3 template_function there is no helper "html"`,
		`{{ call .sku }}`:                  `3 template_function there is no helper "call"`,
		"{{ .sku | upper 1 }}":             "10 template_function upper takes 1 argument, not 2",
		"{{ eq .n }}":                      "3 template_function eq takes 2 or more arguments, not 1",
		"{{ .sku 1 }}":                     "3 template_function .sku is no helper, it takes no arguments",
		"{{ range .rows }}{{ end }}":       "9 template_range range goes over .rows, which only rules with group_by or per: result have",
		`{{ define "x" }}{{ end }}`:        "3 template_function a text cannot define templates",
		`a {{ template "x" }}`:             "14 template_function a text cannot call templates",
		"{{ break }}":                      `0 template_syntax {{break}} outside {{range}}`,
		"{{ . }}":                          "3 template_syntax the dot alone is the whole row",
		"{{ $ }}":                          "3 template_syntax $ is the whole row",
		"{{ .sku.x }}":                     "7 template_syntax .sku.x: a column has no fields",
		"{{ (upper .sku).x }}":             "15 template_syntax (upper .sku).x: a value has no fields",
		"{{ $x := .n }}{{ $x.y }}":         "19 template_syntax $x.y: a value has no fields",
		"{{ $y }}":                         `3 template_syntax undefined variable "$y"`,
		"{{ with .sku }}{{ .n }}{{ end }}": "18 template_syntax inside with, the dot is the value, which has no column .n",
		"{{ default nil .n }}":             "11 template_syntax nil has no text",
		`x {{ "a\u202e" }}`:                "5 bad_text the text \"a\\u202e\": it has U+202E (RIGHT-TO-LEFT OVERRIDE) at character 2; no text may have this character",
		"{{ .skew }}":                      `3 unknown_column the probe returns no column "skew"`,
		"{{ .SKU }}":                       `3 unknown_column the probe returns no column "SKU"`,
		"{{ $.row_count }}":                `4 unknown_column the probe returns no column "row_count"`,
		"{{ .sku | round 2 }}":             "10 template_kind round takes a number, not a text",
		"\n {{ if .lot }}{{ date \"x\" .n }}{{ end }}":               "18 template_kind date takes a time or a date, not an int",
		`{{ if .ok }}{{ else }}{{ if eq .n "x" }}{{ end }}{{ end }}`: "28 template_kind an int does not compare with a text",
		"{{ .qty | round 19 }}":                                      "10 template_kind round takes 0 to 18 digits, not 19",
		`{{ .sku | truncate "x" }}`:                                  `19 template_kind expected integer; found "x"`,
		"{{ with .lot }}{{ . | round 2 }}{{ end }}":                  "22 template_kind round takes a number, not a text",
		strings.Repeat("x", MaxSize+1):                               "0 template_syntax the text has 65537 bytes, at most 65536 are allowed",
	} {
		t.Run(src[:min(len(src), 40)], func(t *testing.T) {
			tmpl, faults := Parse(src)
			if len(faults) == 0 {
				_, faults = tmpl.Bind(columns, time.UTC)
			}
			if len(faults) == 0 {
				t.Fatal("no fault")
			}
			if got := fmt.Sprintf("%d %s %s", faults[0].Offset, faults[0].Code, faults[0].Message); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestEveryFaultIsTold(t *testing.T) {
	_, faults := Parse("{{ one }} {{ .n | two }} {{ range .x }}{{ end }}")
	if len(faults) != 3 {
		t.Errorf("%v", faults)
	}
	tmpl, _ := Parse("{{ .a }} {{ .n }} {{ .b }}")
	if _, faults = tmpl.Bind(columns, time.UTC); len(faults) != 2 {
		t.Errorf("%v", faults)
	}
	if got := strings.Join(tmpl.Columns(), " "); got != "a n b" {
		t.Errorf("columns %s", got)
	}
}

func TestOutputIsBoundedAndRaw(t *testing.T) {
	r := sampleRow()
	for name, src := range map[string]string{"pieces": "{{ .sku }}{{ .sku }}{{ .sku }}", "template": "{{ .sku | trim }}{{ .sku }}{{ .sku }}"} {
		b := bind(t, src)
		r.Values[0] = row.TextOf(strings.Repeat("库", MaxSize/7))
		got, err := b.Render(r)
		if err != nil || len(got) > MaxSize || len(got) < MaxSize-4 || !utf8.ValidString(got) || !strings.HasSuffix(got, "库…") {
			t.Errorf("%s: %d bytes, %v, ends in %q", name, len(got), err, got[max(len(got)-10, 0):])
		}
		r.Values[0] = row.TextOf("a\x00b\x1b[31m\xff\r\n\tc\uffff")
		if got, err = b.Render(r); err != nil || !strings.HasPrefix(got, "a\x00b\x1b[31m\uFFFD\r\n\tc\uffff") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	r.Values[0] = row.TextOf(strings.Repeat("x", MaxSize))
	if got, err := bind(t, "{{ .sku }}").Render(r); err != nil || len(got) != MaxSize || strings.HasSuffix(got, "…") {
		t.Errorf("what just fits is cut: %d bytes, %v", len(got), err)
	}
}

// The short way for templates without logic writes what package text/template writes.
func TestPiecesRenderAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var src strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			src.WriteString(rapid.StringMatching(`[a-z é\n]{0,5}`).Draw(t, "words"))
			fmt.Fprintf(&src, "{{ .%s }}", rapid.SampledFrom(columns).Draw(t, "column").Name)
		}
		tmpl, faults := Parse(src.String())
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		b, faults := tmpl.Bind(columns, time.UTC)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		if b.pieces == nil {
			t.Fatal("no pieces")
		}
		r := sampleRow()
		r.Values[0] = row.TextOf(rapid.String().Draw(t, "sku"))
		r.Values[6] = row.FloatOf(rapid.Float64().Draw(t, "w"))
		short, err := b.Render(r)
		if err != nil {
			t.Fatal(err)
		}
		b.pieces = nil
		if long, err := b.Render(r); err != nil || short != long {
			t.Fatalf("%q, %q, %v", short, long, err)
		}
	})
}

func TestClonesRenderAtOnce(t *testing.T) {
	b := bind(t, "{{ .sku | trim }}{{ .n }}")
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			c, r := b.Clone(), sampleRow()
			r.Values[2] = row.IntOf(int64(n))
			for range 100 {
				if got, err := c.Render(r); err != nil || got != fmt.Sprintf("ab-1%d", n) {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestCauseKeepsOtherErrors(t *testing.T) {
	if got := cause(errors.New("plain")); got != "plain" {
		t.Error(got)
	}
}
