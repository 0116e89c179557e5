package strictyaml

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"tallyman/rules/problem"
)

// A text may hold full-width characters. The decoder therefore looks for such characters only where it has found a
// fault, and between the items of a list.

// mistakable lists the codes of faults that a full-width character in a plain scalar can cause.
var mistakable = []string{CodeUnknown, CodeType, CodeEnum, CodeDuration}

// fullWidth returns the full-width character that explains the fault at the node.
func fullWidth(n *Node, code string) (problem.FullWidth, bool) {
	if n == nil || n.Origin != "" || !isPlain(n) || !slices.Contains(mistakable, code) {
		return problem.FullWidth{}, false
	}
	return problem.FindFullWidth([]rune(n.Text), 0)
}

// isPlain tells whether the node is a scalar without quotes.
func isPlain(n *Node) bool { return n.Kind == Scalar && n.style == 0 }

// commas reports a full-width comma inside an item. YAML reads [a， b] as a list of one item.
func (d *Decoder) commas(list, item *Node) {
	if list.style&yaml.FlowStyle == 0 || !isPlain(item) || item.Origin != "" {
		return
	}
	if at := strings.IndexAny(item.Text, "，、"); at >= 0 {
		w, _ := problem.FindFullWidth([]rune(item.Text), utf8.RuneCountInString(item.Text[:at]))
		d.add(item, d.file.ProblemIn(item, w.Offset, problem.CodeFullWidth, w.Message(), w.Hint()+" between items; put a text with "+string(w.Char)+" in quotes"))
	}
}

// fullWidthNear finds a full-width character in the lines that explains a syntax error. It looks for a colon after a
// name. In a line with [ or {, it looks for colons, commas, brackets and quotes instead.
func (f *File) fullWidthNear(lines ...int) (problem.Problem, bool) {
	for _, n := range lines {
		if n < 1 || n > len(f.ends) {
			continue
		}
		line := blankQuotes(f.line(n))
		separators := ""
		switch {
		case strings.ContainsAny(string(line), "[{"):
			separators = "：，、｛｝［］【】“”‘’"
		case wideColon.MatchString(string(line)):
			separators = "："
		}
		for from := 0; ; {
			w, found := problem.FindFullWidth(line, from)
			if !found {
				break
			}
			if from = w.Offset + 1; strings.ContainsRune(separators, w.Char) {
				hint := w.Hint()
				if w.Char == '：' {
					hint += " and a blank"
				}
				return f.problemAt(textPlace{n, w.Offset + 1}, problem.CodeFullWidth, w.Message(), hint), true
			}
		}
	}
	return problem.Problem{}, false
}

// wideColon is a field with a full-width colon.
var wideColon = regexp.MustCompile(`^[\s-]*[A-Za-z_]+\s*：`)

// blankQuotes returns the line with blanks in the place of its quoted texts, and without its comment.
func blankQuotes(line string) []rune {
	chars := []rune(line)
	quote := rune(0)
	for i, r := range chars {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
			chars[i] = ' '
		case r == '"' || r == '\'':
			quote = r
			chars[i] = ' '
		case r == '#' && (i == 0 || chars[i-1] == ' '):
			return chars[:i]
		}
	}
	return chars
}
