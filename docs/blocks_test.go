package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tallyman/docs/codetest"
)

// fenced is a block of a page between fences, without the indentation of the list that it stands in.
type fenced struct {
	page            string
	line            int    // of the first line inside
	language, flags string // behind the fence
	mark            string // of a comment on the line before the fence: <!-- NAME: VALUE --> is "NAME: VALUE"
	text            string
}

var (
	fenceLine = regexp.MustCompile("^( *)```([a-z]*) ?(.*)$")
	markLine  = regexp.MustCompile(`^ *<!-- (.*) -->$`)
)

// blocksOf are the blocks of a page in their order.
func blocksOf(t *testing.T, page string) (list []fenced) {
	t.Helper()
	var open *fenced
	indent, before := "", ""
	for i, line := range strings.Split(codetest.ReadFile(t, page), "\n") {
		m := fenceLine.FindStringSubmatch(line)
		switch {
		case open == nil && m != nil:
			open = &fenced{page: page, line: i + 2, language: m[2], flags: m[3]}
			indent = m[1]
			if c := markLine.FindStringSubmatch(before); c != nil {
				open.mark = c[1]
			}
		case open != nil && m != nil:
			list = append(list, *open)
			open = nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		}
		before = line
	}
	if open != nil {
		t.Errorf("%s:%d: a block without an end", page, open.line)
	}
	return list
}

// guides are the pages of docs for users, the root's README.md among them. error-codes.md is not: docs/codetest runs its examples. Nor are the
// decisions, which show pieces of code, and the Chinese pages, whose blocks are those of the English ones.
func guides(t *testing.T) []string {
	t.Helper()
	all := []string{"../README.md"}
	for _, glob := range []string{"*.md", "*/*.md"} {
		found, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return slices.DeleteFunc(all, func(page string) bool {
		return strings.HasPrefix(page, "adr/") || strings.HasPrefix(page, "zh/") || page == filepath.Join("reference", "error-codes.md")
	})
}
