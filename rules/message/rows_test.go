package message

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tallyman/rules/row"
)

// group makes rows of the same lot with these numbers.
func group(numbers ...int64) []*row.Row {
	var rows []*row.Row
	for i, n := range numbers {
		r := sampleRow()
		r.Values[0], r.Values[1], r.Values[2] = row.TextOf(fmt.Sprintf("s%d", i)), row.TextOf("L1"), row.IntOf(n)
		if i%2 == 1 {
			r.Values[3] = row.Value{}
		}
		rows = append(rows, r)
	}
	return rows
}

func bindRows(t *testing.T, src string) *Bound {
	t.Helper()
	tmpl, faults := ParseRows(src)
	if len(faults) > 0 {
		t.Fatalf("%s: %v", src, faults)
	}
	b, faults := tmpl.BindRows(columns, []string{"lot", "gone"}, shanghai(t))
	if len(faults) > 0 {
		t.Fatalf("%s: %v", src, faults)
	}
	return b
}

func TestRenderRows(t *testing.T) {
	for src, want := range map[string]string{
		"lot {{ .lot }}{{ .gone }}: {{ .row_count }}":                                                            "lot L1: 3",
		"{{ range .rows }}{{ .sku }} {{ end }}":                                                                  "s0 s1 s2 ",
		"{{ range $r := .rows }}{{ $r.sku }}{{ .n }} {{ end }}":                                                  "s05 s16 s27 ",
		"{{ range $i, $r := .rows }}{{ if $i }}, {{ end }}{{ $r.sku }}{{ end }}":                                 "s0, s1, s2",
		"{{ range $i, $r := $.rows }}{{ $i }}{{ .sku }}{{ $.lot }} {{ end }}":                                    "0s0L1 1s1L1 2s2L1 ",
		"{{ range .rows }}{{ .qty | default 0 | round 1 }};{{ end }}":                                            "-12.3;0.0;-12.3;",
		"{{ range .rows }}{{ if gt .n 5 }}{{ .n }}{{ end }}{{ end }}":                                            "67",
		"{{ range .rows }}{{ if gt .n 5 }}{{ .n }}{{ break }}{{ end }}{{ end }}":                                 "6",
		"{{ range .rows }}{{ if eq .n 6 }}{{ continue }}{{ end }}{{ .n }}{{ end }}":                              "57",
		"{{ range $r := .rows }}{{ with .qty }}{{ . }}/{{ $r.n }} {{ else }}- {{ end }}{{ end }}":                "-12.345/5 - -12.345/7 ",
		"{{ $x := .lot }}{{ range .rows }}{{ $x }}{{ $x := .n }}{{ $x }} {{ end }}{{ $x }}":                      "L15 L16 L17 L1",
		"{{ $worst := 9 }}{{ range .rows }}{{ if lt .n $worst }}{{ $worst = .n }}{{ end }}{{ end }}{{ $worst }}": "5",
		"{{ range .rows }}{{ .lot }}{{ $.lot }}{{ $.row_count }} {{ end }}":                                      "L1L13 L1L13 L1L13 ",
		"{{ if gt .row_count 2 }}many{{ end }}{{ range .rows }}x{{ else }}none{{ end }}":                         "manyxxx",
		"{{ range .rows }}a{{ end }}{{ range .rows }}b{{ end }}":                                                 "aaabbb",
	} {
		t.Run(src, func(t *testing.T) {
			b := bindRows(t, src)
			for range 2 { // nothing is left over from before
				if got, err := b.RenderRows(group(5, 6, 7)); err != nil || got != want {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			}
		})
	}
	b := bindRows(t, "{{ .row_count }}{{ range .rows }}{{ .sku }}{{ else }} none{{ end }}")
	if got, err := b.RenderRows(nil); err != nil || got != "0 none" {
		t.Errorf("of no rows: %q, %v", got, err)
	}
}

func TestRowsFaults(t *testing.T) {
	for src, want := range map[string]string{
		"{{ .sku }}":                                                                  `3 unknown_column the column "sku" differs from row to row | write {{ range .rows }}{{ .sku }}{{ end }}; outside of range there is lot, gone, row_count`,
		"{{ .skuu }}":                                                                 `3 unknown_column the column "skuu" differs from row to row | write {{ range .rows }}{{ .skuu }}{{ end }}; outside of range there is lot, gone, row_count`,
		"{{ .row_cuont }}":                                                            `3 unknown_column there is no "row_cuont" outside of range | did you mean "row_count"?`,
		"{{ range .rows }}{{ .skuu }}{{ end }}":                                       `20 unknown_column the probe returns no column "skuu" | did you mean "sku"?`,
		"{{ range .rows }}{{ .row_count }}{{ end }}":                                  `20 unknown_column the probe returns no column "row_count" | columns: sku, lot, n, qty, zero, ok, w, at, day, doc, took, gone`,
		"{{ range .rows }}{{ $.sku }}{{ end }}":                                       `21 unknown_column the column "sku" differs from row to row | write {{ range .rows }}{{ .sku }}{{ end }}; outside of range there is lot, gone, row_count`,
		"{{ .rows }}":                                                                 "3 template_range .rows can stand after range only | write {{ range .rows }}…{{ end }} for each row; .row_count is the number of rows",
		"{{ len .rows }}":                                                             `3 template_function there is no helper "len" | .row_count is the number of rows`,
		"{{ if .rows }}x{{ end }}":                                                    "6 template_range .rows can stand after range only | write {{ range .rows }}…{{ end }} for each row; .row_count is the number of rows",
		"{{ range .lot }}x{{ end }}":                                                  "9 template_range range goes over .rows only | as in {{ range .rows }}{{ .sku }}{{ end }}",
		"{{ range 9999999 }}x{{ end }}":                                               "9 template_range range goes over .rows only | as in {{ range .rows }}{{ .sku }}{{ end }}",
		"{{ range .rows | upper }}x{{ end }}":                                         "9 template_range range goes over .rows only | as in {{ range .rows }}{{ .sku }}{{ end }}",
		"{{ range .rows }}{{ range $.rows }}{{ end }}{{ end }}":                       "26 template_range a range cannot stand inside another range | ",
		"{{ $x := 1 }}{{ range $x = .rows }}{{ end }}":                                "22 template_range range must declare its variables | write := as in {{ range $row := .rows }}",
		"{{ range .rows }}{{ . }}{{ end }}":                                           "20 template_syntax the dot alone is the whole row | name a column, as {{ .sku }}",
		"{{ range $r := .rows }}{{ $r }}{{ end }}":                                    "26 template_syntax $r is the whole row | name a column, as {{ $r.sku }}",
		"{{ range $r := .rows }}{{ $r.sku.x }}{{ end }}":                              "28 template_syntax $r.sku.x: a column has no fields | ",
		"{{ range $i, $r := .rows }}{{ $i.sku }}{{ end }}":                            "32 template_syntax $i.sku: a value has no fields | ",
		"{{ range $r := .rows }}{{ $r = .n }}{{ end }}":                               "26 template_syntax $r is the row | choose another name for the variable",
		"{{ range .rows }}{{ with .lot }}{{ .sku }}{{ end }}{{ end }}":                "35 template_syntax inside with, the dot is the value, which has no column .sku | name the row, as in {{ range $row := .rows }}, and write $row.sku",
		"{{ with .lot }}{{ range .rows }}{{ end }}{{ end }}":                          "24 template_range range goes over .rows only | as in {{ range .rows }}{{ .sku }}{{ end }}",
		"{{ range .rows }}{{ .sku | round 1 }}{{ end }}":                              "27 template_kind round takes a number, not a text | ",
		"{{ range .rows }}{{ if .ok }}{{ break }}{{ end }}{{ date `x` .n }}{{ end }}": "52 template_kind date takes a time or a date, not an int | ",
		"{{ range .rows }}{{ else }}{{ .lot | round 1 }}{{ end }}":                    "37 template_kind round takes a number, not a text | ",
		"{{ .row_count | date `YYYY` }}":                                              "16 template_kind date takes a time or a date, not an int | ",
	} {
		t.Run(src, func(t *testing.T) {
			tmpl, faults := ParseRows(src)
			if len(faults) == 0 {
				_, faults = tmpl.BindRows(columns, []string{"lot", "gone"}, time.UTC)
			}
			if len(faults) == 0 {
				t.Fatal("no fault")
			}
			if got := fmt.Sprintf("%d %s %s | %s", faults[0].Offset, faults[0].Code, faults[0].Message, faults[0].Hint); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// What an author can write to make a rendering blow up ends soon, and in a text of at most MaxSize.
func TestHostileTemplatesEndSoon(t *testing.T) {
	many := make([]*row.Row, 100_000)
	for i := range many {
		many[i] = sampleRow()
	}
	long := sampleRow()
	long.Values[0] = row.TextOf(strings.Repeat("长", 2<<20))
	for name, c := range map[string]struct {
		src  string
		rows []*row.Row
	}{
		"much output":             {"{{ range .rows }}{{ .sku }}{{ .doc }}{{ end }}", many},
		"no output":               {"{{ range .rows }}" + strings.Repeat("{{ if .lot }}x{{ end }}", 2000) + "{{ end }}", many},
		"helpers without output":  {"{{ range .rows }}" + strings.Repeat("{{ $x := .sku | upper | lower | trim }}", 1500) + "{{ end }}", many},
		"helpers over long texts": {strings.Repeat("{{ range .rows }}{{ $x := upper .sku }}{{ end }}", 1300), []*row.Row{long}},
		"comparisons of texts":    {"{{ range .rows }}" + strings.Repeat("{{ if eq .sku .sku .sku }}{{ end }}", 1500) + "{{ end }}", []*row.Row{long}},
		"range after range":       {strings.Repeat("{{ range .rows }}{{ end }}", 2500), many},
	} {
		t.Run(name, func(t *testing.T) {
			b := bindRows(t, c.src)
			started := time.Now()
			got, err := b.RenderRows(c.rows)
			if err != nil || len(got) > MaxSize || !utf8.ValidString(got) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if !strings.HasSuffix(got, "…") {
				t.Errorf("what was stopped is not marked: %q", got[max(len(got)-20, 0):])
			}
			if took := time.Since(started); took > time.Minute {
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestRowsOfAGroupAtOnce(t *testing.T) {
	b := bindRows(t, "{{ .lot }}{{ range .rows }}{{ .n }}{{ end }}")
	done := make(chan string)
	for n := range int64(4) {
		go func() {
			c, got := b.Clone(), ""
			for range 100 {
				got, _ = c.RenderRows(group(n, n+1))
			}
			done <- fmt.Sprint(got == fmt.Sprintf("L1%d%d", n, n+1))
		}()
	}
	for range 4 {
		if got := <-done; got != "true" {
			t.Error(got)
		}
	}
}
