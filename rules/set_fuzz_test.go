package rules_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"tallyman/rules"
	"tallyman/rules/row"
)

// For any content of a rule file, loading, checking and compiling do not panic, and every problem has its place in the
// file.
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
			for _, d := range drafts(p, r, bins(-300, 0, 100)) {
				if !utf8.ValidString(d.Texts[""].Title+d.Texts[""].Body) || d.Priority < 1 || d.Priority > 5 || d.Warehouse == "" {
					t.Fatalf("%+v", d)
				}
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

// drafts judges the rows and returns the drafts of notices about them.
func drafts(p *rules.Program, r *rules.Rule, rows []*row.Row) []*rules.NoticeDraft {
	var made []*rules.NoticeDraft
	keep := func(d *rules.NoticeDraft, err error) {
		if err == nil {
			made = append(made, d)
		}
	}
	if r.Per == rules.PerResult {
		for _, some := range [][]*row.Row{rows, nil} {
			_, _ = p.MatchResult(some)
			_, _ = p.PriorityResult(some)
			keep(p.DraftResult(some))
		}
	} else {
		_, _ = p.Match(rows[0])
		_, _ = p.Key(rows[0]), p.Group(rows[0])
		keep(p.Draft(rows[0]))
		keep(p.DraftGroup(rows))
	}
	if _, ok := r.AlertWarehouse(); ok {
		keep(rules.AlertDraft(r, rules.AlertNoData, "", "", changed), nil)
		keep(rules.AlertDraft(r, rules.AlertOnError, "probe_failed", r.Probe.SQL, changed), nil)
	}
	return made
}
