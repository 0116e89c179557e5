package rules_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"tallyman/rules"
)

// Whatever a rule file holds: loading, checking and compiling do not panic, and every problem has its place in the file.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/bad/*.yaml", "testdata/good/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range files {
			src, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(src))
		}
	}
	known := site
	known.Types = types
	f.Fuzz(func(t *testing.T, src string) {
		set := rules.LoadFile("f.yaml", []byte(src))
		rules.Check(set, known)
		problems := set.Problems
		for _, r := range set.Rules {
			p, found := rules.Compile(r, stock, types)
			problems = append(problems, found...)
			if p == nil {
				continue
			}
			p.SetNow(changed)
			row := stockRow()
			_, _ = p.Match(row)
			if d, err := p.Draft(row); err == nil && !utf8.ValidString(d.Texts[""].Title+d.Texts[""].Body) {
				t.Fatalf("%q", d.Texts)
			}
		}
		lines := strings.FieldsFunc("\n"+strings.ReplaceAll(src, "\n", "\n "), func(r rune) bool { return strings.ContainsRune("\n\r\u0085\u2028\u2029", r) })
		for _, p := range problems {
			if p.Line < 1 || p.Col < 1 || p.Col > len(src)+1 || p.Line > len(lines)+strings.Count(src, "\r")+1 || p.Code == "" || p.Message == "" {
				t.Fatalf("%d lines: %+v", len(lines), p)
			}
		}
	})
}
