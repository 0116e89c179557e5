package strictyaml

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Entry is the text of a list's item in its file: whole lines with their indentation. In a list in [ ] the entry is the
// text between the commas.
type Entry struct {
	file     *File
	from, to int // Bytes of the file.
	indent   int // The indentation of the dash, in characters. -1 in a list in [ ].
}

// Entry returns the text of item i of the list.
func (f *File) Entry(list *Node, i int) Entry {
	n := list.Items[i]
	at := f.clamp(textPlace{n.Line, n.Col})
	if list.style&yaml.FlowStyle != 0 {
		from := f.byteAt(at)
		return Entry{file: f, from: from, to: f.closed(from), indent: -1}
	}
	indent := list.Col - 1
	first := at.line
	for first > list.Line && !f.hasDash(first, indent) {
		first--
	}
	last := at.line
	if n.style&yaml.FlowStyle != 0 {
		last = f.placeAt(f.closed(f.byteAt(at))).line
	}
	return f.lines(first, last, indent)
}

// lines returns the entry that begins with line first. The entry ends with the line `least`, or with a later line that
// still belongs to the entry.
func (f *File) lines(first, least, indent int) Entry {
	last := least
	for n := least + 1; n <= len(f.ends) && !f.leaves(n, indent); n++ {
		if f.below(n, indent) {
			last = n
		}
	}
	return Entry{file: f, from: f.ends[first-1].from, to: f.ends[last-1].to, indent: indent}
}

// hasDash tells whether the line begins an item of a list at the indentation.
func (f *File) hasDash(line, indent int) bool {
	text := f.line(line)
	return len(text) > indent && strings.TrimLeft(text[:indent], " ") == "" && text[indent] == '-'
}

// below tells whether the line is indented deeper than indent. It is false for empty lines.
func (f *File) below(line, indent int) bool {
	text := f.line(line)
	words := strings.TrimLeft(text, " ")
	return strings.TrimSpace(words) != "" && len(text)-len(words) > indent
}

// leaves tells whether the line ends an entry: it is neither empty nor a comment, and not indented deeper than indent.
func (f *File) leaves(line, indent int) bool {
	words := strings.TrimSpace(f.line(line))
	return words != "" && words[0] != '#' && !f.below(line, indent)
}

// closed returns the offset after the bracket that closes the first bracket at or after from.
func (f *File) closed(from int) int {
	depth := 0
	for i := from; i < len(f.src); i++ {
		switch c := f.src[i]; c {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1
			}
		case '"', '\'':
			i = f.unquoted(i)
		case '#':
			if i > 0 && strings.ContainsRune(" \t\n", rune(f.src[i-1])) {
				i = f.ends[f.placeAt(i).line-1].to
			}
		}
	}
	return len(f.src)
}

// unquoted returns the offset of the closing quote for the quote at the offset. A quote in the middle of a word opens
// no text, so it is its own end.
func (f *File) unquoted(at int) int {
	quote := f.src[at]
	if at > 0 && !strings.ContainsRune(" \t\r\n{[,:", rune(f.src[at-1])) {
		return at
	}
	for i := at + 1; i < len(f.src); i++ {
		switch {
		case quote == '"' && f.src[i] == '\\':
			i++
		case f.src[i] == quote && quote == '\'' && strings.HasPrefix(f.src[i+1:], "'"):
			i++
		case f.src[i] == quote:
			return i
		}
	}
	return at
}

// Text returns the text of the entry.
func (e Entry) Text() string { return e.file.src[e.from:e.to] }

// Line returns the line of the entry's first character.
func (e Entry) Line() int { return e.file.placeAt(e.from).line }

// File returns the name of the file.
func (e Entry) File() string { return e.file.Name }

// EntryIn finds an item of a list in a text that cannot be parsed. It looks for the line "field: value".
func EntryIn(name, src, field, value string) (Entry, bool) {
	f := newFile(name, strings.TrimPrefix(src, "\ufeff"))
	for n := range f.ends {
		text := f.line(n + 1)
		words := strings.TrimLeft(text, " -")
		said, ok := strings.CutPrefix(words, field+":")
		said, _, _ = strings.Cut(said, " #")
		if !ok || strings.Trim(said, " \t\"'") != value {
			continue
		}
		indent := utf8.RuneCountInString(text) - utf8.RuneCountInString(words)
		for first := n + 1; first > 0; first-- {
			line := f.line(first)
			if dash := len(line) - len(strings.TrimLeft(line, " ")); dash < indent && f.hasDash(first, dash) {
				return f.lines(first, n+1, dash), true
			}
		}
	}
	return Entry{}, false
}

// Put is a file with another text in the place of an entry.
type Put struct {
	Source []byte // The file with the new text.
	Before []byte // The file with the entry as it was.

	line, lines int  // The first line of the new text, and how many lines it has.
	before      int  // How many lines of the file the new text replaces.
	shift       int  // By how many characters the lines of the new text were moved to the right.
	firstOnly   bool // Only the first line was moved: the list is in [ ].
}

// Put puts a text in the place of the entry. The text is the item with its dash, or only the mapping that the item
// holds. It may have the indentation of the file or none.
func (e Entry) Put(text string) Put {
	text = strings.TrimRight(text, "\r\n")
	p := Put{line: e.Line(), before: strings.Count(e.Text(), "\n") + 1}
	if e.indent < 0 {
		p.shift, p.firstOnly = e.file.placeAt(e.from).col-1, true
	} else {
		text, p.shift = indented(text, e.indent)
	}
	p.lines = len(newFile("", text).ends)
	p.Source, p.Before = []byte(e.file.src[:e.from]+text+e.file.src[e.to:]), []byte(e.file.src)
	return p
}

// indented moves the lines so that the item's dash stands at the indentation. It adds a dash where the text has none.
func indented(text string, indent int) (moved string, shift int) {
	lines := strings.Split(text, "\n")
	at := max(slices.IndexFunc(lines, func(l string) bool {
		words := strings.TrimSpace(l)
		return words != "" && words[0] != '#'
	}), 0)
	words := strings.TrimLeft(lines[at], " ")
	shift = indent - (len(lines[at]) - len(words))
	dashed := words == "-" || strings.HasPrefix(words, "- ")
	if !dashed {
		shift += len("- ")
	}
	for i, l := range lines {
		switch {
		case shift >= 0 && strings.TrimSpace(l) != "":
			lines[i] = strings.Repeat(" ", shift) + l
		case shift < 0:
			lines[i] = l[min(-shift, len(l)-len(strings.TrimLeft(l, " "))):]
		}
	}
	if !dashed {
		lines[at] = strings.Repeat(" ", indent) + "- " + words
	}
	return strings.Join(lines, "\n"), shift
}

// Line returns the line of the file where the new text begins.
func (p *Put) Line() int { return p.line }

// Place converts a place in the new file to a place in the new text. Where the place is outside of the text, inside is
// false, and Place returns the place in the old file.
func (p *Put) Place(line, col int) (inText, inCol int, inside bool) {
	switch n := line - p.line + 1; {
	case n < 1:
		return line, col, false
	case n > p.lines:
		return line - p.lines + p.before, col, false
	case p.firstOnly && n > 1:
		return n, col, true
	default:
		return n, max(col-p.shift, 1), true
	}
}
