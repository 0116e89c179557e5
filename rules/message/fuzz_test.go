package message

import (
	"testing"
	"time"
	"unicode/utf8"

	"tallyman/rules/row"
)

// Whatever the template: no panic, faults stand inside it, and what binds renders rows of its kinds without error,
// soon, and in a text of at most MaxSize.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{
		"{{ .sku }}", "{{ if .ok }}{{ .qty | round 2 }}{{ else }}-{{ end }}", "{{ with $x := .n }}{{ $x }}{{ end }}", "{{ define `x` }}{{ end }}",
		"{{ .at | date `YYYY` | upper }}", "{{ break }}", "{{ (1) }}", "{{ \"\\x\" }}", "{{ 'a' }}", "{{ 1i | upper }}", "{{ eq 1 1.5 .qty }}", "{{/* */}}", "{{- -}}",
		"{{ .lot }}{{ range .rows }}{{ .sku }}{{ else }}none{{ end }}", "{{ range $i, $r := $.rows }}{{ if $i }}{{ break }}{{ end }}{{ $r.n }}{{ end }}{{ .row_count }}",
		"{{ range $x := .rows }}{{ $x := .n }}{{ $x }}{{ continue }}{{ end }}", "{{ range .rows }}{{ range .rows }}{{ end }}{{ end }}",
		"{{ with .lot }}{{ range $.rows }}{{ . }}{{ end }}{{ end }}", "{{ range $x = .rows }}{{ end }}", "{{ $x := .lot }}{{ range .rows }}{{ $x = .sku }}{{ end }}{{ $x }}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		started := time.Now()
		one, faults := Parse(src)
		inside(t, src, faults)
		if len(faults) == 0 {
			b, faults := one.Bind(columns, time.UTC)
			inside(t, src, faults)
			if len(faults) == 0 {
				bounded(t, src, b.Render, sampleRow(), row.New(columns))
			}
		}
		several, faults := ParseRows(src)
		inside(t, src, faults)
		if len(faults) == 0 {
			b, faults := several.BindRows(columns, []string{"lot", "n"}, time.UTC)
			inside(t, src, faults)
			if len(faults) == 0 {
				bounded(t, src, b.RenderRows, group(1, 2), nil)
			}
		}
		if took := time.Since(started); took > 20*time.Second {
			t.Fatalf("%q took %s", src, took)
		}
	})
}

func inside(t *testing.T, src string, faults []Fault) {
	t.Helper()
	for _, fault := range faults {
		if fault.Offset < 0 || fault.Offset > utf8.RuneCountInString(src) || fault.Message == "" || fault.Code == "" {
			t.Fatalf("%q: %+v", src, fault)
		}
	}
}

func bounded[T any](t *testing.T, src string, render func(T) (string, error), about ...T) {
	t.Helper()
	for _, a := range about {
		got, err := render(a)
		if err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		if len(got) > MaxSize+utf8.UTFMax || !utf8.ValidString(got) {
			t.Fatalf("%q gives %d bytes", src, len(got))
		}
	}
}
