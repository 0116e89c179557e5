package codetest

import (
	"regexp"
	"strings"
	"testing"
)

// section is what the page says of one code; it ends before the next heading.
type section struct {
	code, text string
	start, end int // of the text in the page
}

var heading = regexp.MustCompile(`(?m)^(##|###) (.+)\n`)

// sectionsOf are those below the headings of the part.
func sectionsOf(page, headings string) []*section {
	var list []*section
	within := false
	for _, m := range heading.FindAllStringSubmatchIndex(page, -1) {
		if n := len(list); n > 0 && list[n-1].text == "" {
			list[n-1].close(page, m[0])
		}
		name := page[m[4]:m[5]]
		if page[m[2]:m[3]] == "##" {
			within = strings.HasPrefix(name, headings)
		} else if within {
			list = append(list, &section{code: name, start: m[1]})
		}
	}
	if n := len(list); n > 0 && list[n-1].text == "" {
		list[n-1].close(page, len(page))
	}
	return list
}

func (s *section) close(page string, end int) { s.text, s.end = page[s.start:end], end }

var block = regexp.MustCompile("(?ms)^```(\\w+) *([^\n]*)\n(.*?)^```\n")

// Example is what the blocks of a section make.
type Example struct {
	Code   string // that it is for
	Blocks []Block
}

// Block is one block of an example.
type Block struct{ Language, Flags, Text string }

// Block is the text of the block of the language with these flags, empty where there is none.
func (e *Example) Block(language, flags string) string {
	for _, b := range e.Blocks {
		if b.Language == language && b.Flags == flags {
			return b.Text
		}
	}
	return ""
}

// example takes the blocks apart; the outcome is that of the page.
func (s *section) example() (e *Example, outcome string) {
	e = &Example{Code: s.code}
	for _, m := range block.FindAllStringSubmatch(s.text, -1) {
		if m[1] == "text" {
			return e, m[3]
		}
		e.Blocks = append(e.Blocks, Block{Language: m[1], Flags: m[2], Text: m[3]})
	}
	return e, ""
}

// with is the section with the outcome below its example.
func (s *section) with(outcome string) string {
	end := 0
	for _, m := range block.FindAllStringSubmatchIndex(s.text, -1) {
		if s.text[m[2]:m[3]] == "text" {
			return s.text[:m[0]] + "```text\n" + outcome + "```\n" + s.text[m[1]:]
		}
		end = m[1]
	}
	return s.text[:end] + "```text\n" + outcome + "```\n" + s.text[end:]
}

// Base is the text of the page's block with these flags, which its examples build on.
func Base(t *testing.T, page, flags string) string {
	t.Helper()
	for _, m := range block.FindAllStringSubmatch(readFile(t, page), -1) {
		if m[2] == flags {
			return m[3]
		}
	}
	t.Fatalf("%s has no block with the flags %q", page, flags)
	return ""
}
