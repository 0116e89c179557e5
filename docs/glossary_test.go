package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"go.yaml.in/yaml/v3"

	"tallyman/docs/codetest"
	"tallyman/internal/cli"
)

// allowedFile lists the uses of wrong words that are right, each with its reason.
const allowedFile = "glossary_allowed.yaml"

// wrongWord is a word of the last column of glossary.md.
type wrongWord struct {
	word, term string // term is the word to use instead
	pattern    *regexp.Regexp
}

// allowance lets a phrase stand, or words, on one page or everywhere.
type allowance struct {
	Page   string   // a path from the root, "help" or "console"; empty = everywhere
	Phrase string   // as it stands on the page, with `…` for text in backticks
	Words  []string // wrong words that the page may use as it likes
	Reason string
}

// allowances is the allowed file.
type allowances struct {
	Allowed []allowance `yaml:"allowed"`
}

// glossary is what the tests look for.
type glossary struct {
	wrong   []wrongWord
	allowed []allowance
}

// Each row of the glossary is complete, and rules out no word that is a term itself.
func TestTheGlossaryItself(t *testing.T) {
	t.Parallel()
	rows := glossaryRows(t)
	for _, row := range rows {
		if row[0] == "" || !hasHan(row[1]) || !strings.HasSuffix(row[2], ".") {
			t.Errorf("the row %q lacks its term, its Chinese or a sentence", row)
		}
	}
	for _, w := range readGlossary(t).wrong {
		for _, row := range rows {
			if w.word == row[0] || w.word == row[1] {
				t.Errorf("%q is ruled out for %q, and is a term itself", w.word, w.term)
			}
		}
	}
	if len(rows) < 60 {
		t.Errorf("only %d terms were found", len(rows))
	}
}

// The finder finds words and plurals, in any case and over a line's end, but nothing in code and nothing that is allowed.
func TestWrongWordsAreFound(t *testing.T) {
	t.Parallel()
	g := glossary{
		wrong:   []wrongWord{newWrongWord("alert", "finding"), newWrongWord("circuit breaker", "breaker"), newWrongWord("告警", "发现项")},
		allowed: []allowance{{Phrase: "the alert `…`"}, {Phrase: "alert managers"}, {Page: "help", Words: []string{"alert"}}},
	}
	for text, want := range map[string]int{
		"Three alerts":                     1,
		"An ALERT, and a circuit\nbreaker": 2,
		"这是告警。":                            1,
		"alerted, `alert`":                 0,
		"```\nalert\n```\n":                0,
		"[runs](alert.md)":                 0,
		"the alert `TallymanDown` fires":   0,
		"as alert\nmanagers do":            0,
		"the alert fires":                  1,
	} {
		if found := g.find("a.md", text); len(found) != want {
			t.Errorf("%q: found %q, want %d", text, found, want)
		}
	}
	if found := g.find("help", "alert"); len(found) > 0 {
		t.Errorf("found %q where it is allowed", found)
	}
}

func TestPagesUseTheGlossarysWords(t *testing.T) {
	t.Parallel()
	g := readGlossary(t)
	var pages []string
	for _, glob := range []string{"*.md", "*/*.md", "zh/*/*.md", "../README*.md"} {
		found, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		if page != "glossary.md" {
			report(t, g.find(strings.TrimPrefix(filepath.Join("docs", page), "../"), codetest.ReadFile(t, page)))
		}
	}
	if len(pages) < 12 {
		t.Errorf("only %d pages were found", len(pages))
	}
}

// The help of every command, as the command line prints it.
func TestHelpUsesTheGlossarysWords(t *testing.T) {
	t.Parallel()
	g := readGlossary(t)
	n := 0
	var walk func(path []string)
	walk = func(path []string) {
		n++
		help := helpOf(t, path)
		for _, finding := range g.find("help", help) {
			t.Errorf("tallyman %s: %s", strings.Join(append(path, "--help"), " "), finding)
		}
		_, list, _ := strings.Cut(help, "\nAvailable Commands:\n")
		list, _, _ = strings.Cut(list, "\n\n")
		for line := range strings.Lines(list) {
			if name := strings.Fields(line)[0]; name != "help" && name != "completion" {
				walk(append(slices.Clip(path), name))
			}
		}
	}
	walk(nil)
	if n < 50 {
		t.Errorf("only %d commands were found", n)
	}
}

func helpOf(t *testing.T, path []string) string {
	t.Helper()
	var out, errOut strings.Builder
	args := append(slices.Clip(path), "--help")
	code := cli.Run(t.Context(), cli.Process{Args: args, Env: []string{"COLUMNS=1000"}, In: strings.NewReader(""), Out: &out, Err: &errOut}, cli.Services{})
	if code != cli.ExitFine {
		t.Fatalf("tallyman %v: exit code %d: %s", args, code, errOut.String())
	}
	return out.String()
}

// The texts of the console and the widget stand in files that declare a dictionary; every literal there is looked at.
func TestTheConsoleUsesTheGlossarysWords(t *testing.T) {
	t.Parallel()
	g := readGlossary(t)
	dictionary := regexp.MustCompile(`= (texts|dictionary)\(`)
	literal := regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	n := 0
	for _, file := range sources(t) {
		inConsole := strings.HasPrefix(file, "internal/console/web/src/") && strings.HasSuffix(file, ".ts")
		if !inConsole || strings.HasSuffix(file, ".test.ts") {
			continue
		}
		source := codetest.ReadFile(t, "../"+file)
		if !dictionary.MatchString(source) {
			continue
		}
		n++
		for i, line := range strings.Split(source, "\n") {
			if strings.HasPrefix(line, "import ") {
				continue
			}
			for _, text := range literal.FindAllString(line, -1) {
				for _, w := range g.find("console", text) {
					t.Errorf("%s:%d: %s", file, i+1, w)
				}
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d files of texts were found", n)
	}
}

func report(t *testing.T, found []string) {
	t.Helper()
	for _, f := range found {
		t.Error(f)
	}
}

// find returns a line for each wrong word of a page that is not allowed there.
func (g glossary) find(page, text string) (found []string) {
	if strings.HasSuffix(page, ".md") { // the help indents flags as deep as Markdown indents code
		text = withoutCode(text)
	}
	text = g.withoutAllowed(page, text)
	for _, w := range g.wrong {
		if slices.ContainsFunc(g.allowed, func(a allowance) bool { return a.Page == page && slices.Contains(a.Words, w.word) }) {
			continue
		}
		for _, at := range w.pattern.FindAllStringIndex(text, -1) {
			from, to := max(0, at[0]-40), min(len(text), at[1]+40)
			context := strings.Join(strings.Fields(strings.ToValidUTF8(text[from:to], "")), " ")
			line := strings.Count(text[:at[0]], "\n") + 1
			found = append(found, fmt.Sprintf("%s:%d: %q (… %s …): the glossary says %q; a use with another meaning belongs into docs/%s",
				page, line, text[at[0]:at[1]], context, w.term, allowedFile))
		}
	}
	return found
}

// withoutAllowed blanks the phrases that the page may have.
func (g glossary) withoutAllowed(page, text string) string {
	for _, a := range g.allowed {
		if a.Phrase != "" && (a.Page == "" || a.Page == page) {
			text = phrase(a.Phrase).ReplaceAllStringFunc(text, lineEnds)
		}
	}
	return text
}

var (
	indented   = regexp.MustCompile(`(?m)^ {4}.*$`)
	inline     = regexp.MustCompile("(?s)``.+?``|`[^`]+`")
	linkTarget = regexp.MustCompile(`\]\([^)]*\)`)
	tag        = regexp.MustCompile(`<[a-z/][^>]*>`)
)

// withoutCode takes out what is not prose and keeps the line ends.
func withoutCode(text string) string {
	for _, what := range []*regexp.Regexp{fence, indented} {
		text = what.ReplaceAllStringFunc(text, lineEnds)
	}
	text = inline.ReplaceAllStringFunc(text, func(s string) string { return "`…`" + strings.Repeat("\n", strings.Count(s, "\n")) })
	for _, what := range []*regexp.Regexp{linkTarget, tag} {
		text = what.ReplaceAllStringFunc(text, lineEnds)
	}
	return text
}

func lineEnds(s string) string { return " " + strings.Repeat("\n", strings.Count(s, "\n")) }

// readGlossary reads the wrong words of glossary.md and what is allowed.
func readGlossary(t *testing.T) glossary {
	t.Helper()
	var g glossary
	for _, row := range glossaryRows(t) {
		for word := range strings.SplitSeq(row[3], ",") {
			word = strings.TrimSpace(word)
			known := slices.ContainsFunc(g.wrong, func(w wrongWord) bool { return w.word == word })
			if word == "" || known || strings.Contains(word, "(") {
				continue
			}
			term := row[0]
			if hasHan(word) {
				term = row[1]
			}
			g.wrong = append(g.wrong, newWrongWord(word, term))
		}
	}
	file, err := os.ReadFile(allowedFile)
	if err != nil {
		t.Fatal(err)
	}
	var list allowances
	if err := yaml.Unmarshal(file, &list); err != nil {
		t.Fatalf("%s: %v", allowedFile, err)
	}
	for _, a := range list.Allowed {
		if a.Reason == "" {
			t.Errorf("%s: %+v has no reason", allowedFile, a)
		}
	}
	g.allowed = list.Allowed
	if len(g.wrong) < 30 {
		t.Fatalf("only %d wrong words were found in glossary.md", len(g.wrong))
	}
	return g
}

// glossaryRows are the rows of the tables of glossary.md: term, Chinese, meaning, wrong words.
func glossaryRows(t *testing.T) (rows [][]string) {
	t.Helper()
	for line := range strings.Lines(codetest.ReadFile(t, "glossary.md")) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| term |") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
		if len(cells) != 4 {
			t.Fatalf("glossary.md: a row has %d cells, not 4: %s", len(cells), line)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}

// newWrongWord matches a word as a whole, also in the plural, in any case unless the word has capitals; Chinese wherever the text has it.
func newWrongWord(word, term string) wrongWord {
	pattern := phrase(word).String()
	switch {
	case hasHan(word):
	case strings.ToLower(word) == word:
		pattern = `(?i)\b` + pattern + `(?:s|es)?\b`
	default:
		pattern = `\b` + pattern + `(?:s|es)?\b`
	}
	return wrongWord{word: word, term: term, pattern: regexp.MustCompile(pattern)}
}

// phrase matches words with any space between them.
func phrase(words string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(words), " ", `\s+`))
}

func hasHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}
