package strictyaml

import (
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"tallyman/rules/problem"
)

// The library often names no place for an error. At best it names the line where the broken construct began, and never
// the column. Therefore syntaxProblem parses the file once more, byte by byte. The error is near the byte that the
// library read last.

var syntaxLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

const missingColon = "write name: value, with a space after the colon"

// syntaxWords translates the library's messages. marks holds the characters that a message is about.
var syntaxWords = []struct{ theirs, ours, hint, marks string }{
	{"mapping values are not allowed", "a second colon in one line", `put a text that holds ": " in quotes`, ":"},
	{"found character that cannot start any token", "a value cannot begin with this character", `put the value in quotes, as in "@every 30s" or "%"`, "@`%\t"},
	{"found a tab character", "a tab where only spaces may indent", "indent with spaces", "\t"},
	{"found unknown escape character", "no such escape in a text in double quotes", `write \\ for a backslash, or use single quotes`, `\`},
	{"did not find expected key", "this line fits no block above it", "check the indentation, and that lists use - and maps use name: value", ""},
	{"did not find expected '-' indicator", "a list item was expected here", "check the indentation", ""},
	{"could not find expected ':'", "a name without a colon", missingColon, ""},
	{"did not find expected ',' or ']'", "the list in [ ] is not closed", "close it with ], and put commas between its items", ""},
	{"did not find expected ',' or '}'", "the map in { } is not closed", "close it with }, and put commas between its fields; in { } put a value with [ ] { } or a comma in quotes", ""},
	{"did not find expected node content", "a value was expected, and a list in [ ] or map in { } is not closed", "close it, and put commas between its items", ""},
	{"found unexpected end of stream", "the quoted text is never closed", "close the quote", ""},
}

// bracesHint is for the most common mistake: YAML reads a template without quotes as a map.
const bracesHint = "a text that begins with {{ needs quotes"

var bareTemplate = regexp.MustCompile(`: +(\{\{)`)

func (f *File) syntaxProblem(err error) problem.Problem {
	message, line := err.Error(), 1
	if m := syntaxLine.FindStringSubmatch(message); m != nil {
		message = m[2]
		if m[1] != "" {
			line, _ = strconv.Atoi(m[1]) // the pattern matches digits only; clamp bounds the line below
		}
	}
	at, hint, marks := f.failureAt(), "", ""
	last := f.placeAt(max(at-1, 0)).line
	if p, found := f.fullWidthNear(line, last-1, last); found {
		return p
	}
	for _, w := range syntaxWords {
		if strings.HasPrefix(message, w.theirs) {
			message, hint, marks = w.ours, w.hint, w.marks
			break
		}
	}
	if p := f.placeAt(max(at-1, 0)); strings.Contains(message, "block") || strings.Contains(message, "not closed") {
		for _, line := range []int{p.line, p.line - 1} {
			if line < 1 {
				continue
			}
			if m := bareTemplate.FindStringSubmatchIndex(f.line(line)); m != nil {
				return f.problemAt(f.placeAt(f.ends[line-1].from+m[2]), CodeSyntax, "a template without quotes", bracesHint)
			}
		}
	}
	if name, ok := strings.CutPrefix(message, "unknown anchor '"); ok {
		name = strings.TrimSuffix(name, "' referenced")
		message, hint = "no anchor &"+name+" stands above this alias", "define it first: field: &"+name+" value"
		if i := strings.LastIndex(f.src[:at], "*"+name); i >= 0 {
			at = i
		}
		return f.problemAt(f.placeAt(at), CodeSyntax, message, hint)
	}
	if strings.TrimRightFunc(f.src[at:], unicode.IsSpace) == "" && strings.Contains(message, "closed") {
		// The file ends inside a bracket or quote. The place to look at is where it was opened, not the end of the
		// file.
		return f.problemAt(f.opening(message, line), CodeSyntax, message, hint)
	}
	if hint == missingColon {
		at = f.ends[f.clamp(textPlace{line, 1}).line-1].to // the name without a colon, not the text after it
	}
	at = f.stepBack(at, marks)
	if strings.HasPrefix(f.src[at:], "\t") {
		message, hint = "a tab where only spaces may indent", "indent with spaces"
	}
	return f.problemAt(f.placeAt(at), CodeSyntax, message, hint)
}

// failureAt returns how many bytes the library reads before it finds the error.
func (f *File) failureAt() int {
	r := &trickle{rest: f.src}
	dec := yaml.NewDecoder(r)
	for {
		if _, err := next(dec); err != nil {
			return len(f.src) - len(r.rest)
		}
	}
}

// stepBack returns the offset of the character that the error is about. at is where the scanner stopped, which can be
// up to four characters further.
func (f *File) stepBack(at int, marks string) int {
	if marks != "" {
		from := max(at-6, 0)
		if i := strings.LastIndexAny(f.src[from:at], marks); i >= 0 {
			return from + i
		}
	}
	read := strings.TrimRightFunc(f.src[:at], func(r rune) bool { return unicode.IsSpace(r) || isBreak(r) })
	p := f.placeAt(max(len(read)-1, 0))
	line := f.line(p.line)
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	return f.ends[p.line-1].from + indent
}

// opening finds the place of a bracket or quote that is never closed. It is the last bracket without a partner, or the
// first quote in the line that the library names.
func (f *File) opening(message string, line int) textPlace {
	closed := map[byte]int{}
	for at := len(f.src) - 1; at >= 0 && strings.ContainsAny(message, "[{"); at-- {
		switch c := f.src[at]; c {
		case ']', '}':
			closed[c]++
		case '[', '{':
			partner := c + 2 // in ASCII
			if closed[partner] > 0 {
				closed[partner]--
			} else if strings.ContainsRune(message, rune(c)) {
				return f.placeAt(at)
			}
		}
	}
	p := f.clamp(textPlace{line, 1})
	if i := strings.IndexAny(f.line(p.line), `"'`); i >= 0 {
		return f.placeAt(f.ends[p.line-1].from + i)
	}
	return p
}

// trickle is a reader that returns one byte at a time.
type trickle struct{ rest string }

// Read implements io.Reader.
func (t *trickle) Read(p []byte) (int, error) {
	if t.rest == "" {
		return 0, io.EOF
	}
	n := copy(p[:1], t.rest)
	t.rest = t.rest[n:]
	return n, nil
}
