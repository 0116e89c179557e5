package main

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"tallyman/internal/app"
	"tallyman/rules/condition"
	"tallyman/rules/message"
	"tallyman/rules/row"
)

const page = "rule-file.md"

// Every example of the guide gives what the guide says.
func TestExamples(t *testing.T) {
	for _, chapter := range condition.Reference() {
		for _, e := range chapter.Entries {
			t.Run(chapter.Title+"/"+e.Name, func(t *testing.T) {
				if e.Name == "" || e.Signature == "" || e.Meaning == "" {
					t.Fatalf("%+v", e)
				}
				if got := evaluated(t, e.Example, e.Rows); got != e.Gives {
					t.Errorf("%s gives %s, the guide says %s", e.Example, got, e.Gives)
				}
			})
		}
	}
}

// evaluated is what an expression gives over the row or the rows of the guide.
func evaluated(t *testing.T, src string, overRows bool) string {
	t.Helper()
	r, rows := exampleRow(), exampleRows()
	if overRows {
		p, err := condition.CompileResult(src, rows[0].Columns)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		p.SetNow(exampleNow())
		return shown(func() (row.Value, error) { return p.EvalResult(rows) })
	}
	p, err := condition.Compile(src, r.Columns)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	p.SetNow(exampleNow())
	return shown(func() (row.Value, error) { return p.Eval(r) })
}

func shown(eval func() (row.Value, error)) string {
	v, err := eval()
	switch {
	case err != nil:
		return "error: " + err.Error()
	case v.IsNull():
		return "NULL"
	}
	return v.String()
}

func TestHelpers(t *testing.T) {
	for _, h := range message.Reference() {
		t.Run(h.Name, func(t *testing.T) {
			tmpl, faults := message.Parse(h.Example)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			b, faults := tmpl.Bind(exampleRow().Columns, time.UTC)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			if got, err := b.Render(exampleRow()); err != nil || got != h.Gives || h.Meaning == "" {
				t.Errorf("%s gives %q, %v, the guide says %q", h.Example, got, err, h.Gives)
			}
		})
	}
}

// The pages have the tables as they come from the code.
func TestPagesAreFresh(t *testing.T) {
	n := 0
	for _, name := range []string{page, "../how-to/channels.md"} {
		have, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n += len(section.FindAllString(string(have), -1))
		if write(string(have)) != string(have) {
			t.Errorf("%s is not fresh: run make generate", name)
		}
	}
	if n != len(sections) {
		t.Errorf("the pages have %d of %d sections", n, len(sections))
	}
}

// Every setting of a sink says what it means.
func TestSettingsAreExplained(t *testing.T) {
	for _, typ := range app.Types().Sinks {
		for _, row := range settingRows("", reflect.ValueOf(typ.New()).Elem()) {
			if row[3] == "" {
				t.Errorf("%s of %s has no doc", row[0], typ.Name)
			}
		}
	}
}

// In a block of the page that is marked so, each line is an expression, two spaces or more, and what it gives.
func TestRecipes(t *testing.T) {
	src, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```expr( rows)?\n(.*?)```")
	line := regexp.MustCompile(`^(.*\S)  +(\S.*)$`)
	n := 0
	for _, m := range block.FindAllStringSubmatch(string(src), -1) {
		for l := range strings.Lines(m[2]) {
			parts := line.FindStringSubmatch(strings.TrimSpace(l))
			if parts == nil {
				t.Errorf("%q has no result", l)
				continue
			}
			n++
			if got := evaluated(t, parts[1], m[1] != ""); got != parts[2] {
				t.Errorf("%s gives %s, the page says %s", parts[1], got, parts[2])
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d examples", n)
	}
}
