package problem

import (
	"fmt"
	"strings"
	"unicode"
)

// The codes that several kinds of text share: YAML, expressions and SQL.
const (
	CodeFullWidth = "full_width"
)

// FullWidth is a full-width character at a place where only its ASCII form has a meaning. Chinese input methods write
// such characters.
type FullWidth struct {
	Offset int // In characters from the start of the text.
	Char   rune
	Plain  string // The ASCII form.
}

// Message names the character.
func (w FullWidth) Message() string {
	if w.Char == ideographicSpace {
		return "a full-width space"
	}
	return fmt.Sprintf("%c is a full-width character", w.Char)
}

// Hint says what to write instead.
func (w FullWidth) Hint() string {
	if w.Char == ideographicSpace {
		return "write a normal space"
	}
	return "write " + w.Plain
}

const ideographicSpace = '\u3000'

// plainForms holds characters of Chinese and typographic input methods with their ASCII forms. The other full-width
// characters, from U+FF01 to U+FF5E, all have the same distance to their ASCII form, and FindFullWidth calculates it.
var plainForms = map[rune]string{
	'“': `"`, '”': `"`, '„': `"`, '‘': "'", '’': "'", '「': `"`, '」': `"`, '『': `"`, '』': `"`,
	'、': ",", '。': ".", '【': "[", '】': "]", '〔': "[", '〕': "]", '《': "<", '》': ">", '〈': "<", '〉': ">",
	'≠': "!=", '≤': "<=", '≥': ">=", '×': "*", '÷': "/", '−': "-", '–': "-", '—': "-", '￥': "$", '…': "..",
	ideographicSpace: " ",
}

// FindFullWidth returns the first full-width quote, bracket, comma, colon, operator or digit of the text. It starts at
// character number from. It ignores letters, and digits inside a name, because a name may be Chinese.
func FindFullWidth(text []rune, from int) (FullWidth, bool) {
	for i := from; i < len(text); i++ {
		r := text[i]
		plain, ok := plainForms[r]
		if !ok && r >= '！' && r <= '～' && !unicode.IsLetter(r) {
			plain, ok = string(r-'！'+'!'), true
		}
		if !ok || unicode.IsDigit(r) && i > 0 && isName(text[i-1]) {
			continue
		}
		return FullWidth{Offset: i, Char: r, Plain: plain}, true
	}
	return FullWidth{}, false
}

func isName(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) && !strings.ContainsRune("０１２３４５６７８９", r)
}
