package problem

import (
	"fmt"
	"strings"
	"unicode"
)

// The codes that several kinds of text share.
const (
	CodeFullWidth = "full_width"
)

// FullWidth is a full-width character where only its ASCII form means something.
type FullWidth struct {
	Offset int // in characters
	Char   rune
	Plain  string // the ASCII form
}

// Message says what stands there.
func (w FullWidth) Message() string {
	if w.Char == ideographicSpace {
		return "a full-width space"
	}
	return fmt.Sprintf("%c is a full-width character", w.Char)
}

// Hint says what to write.
func (w FullWidth) Hint() string {
	if w.Char == ideographicSpace {
		return "write a plain blank"
	}
	return "write " + w.Plain
}

const ideographicSpace = '\u3000'

// plainForms holds the characters of Chinese and typographic input methods whose ASCII form is not at the same distance.
var plainForms = map[rune]string{
	'“': `"`, '”': `"`, '„': `"`, '‘': "'", '’': "'", '「': `"`, '」': `"`, '『': `"`, '』': `"`,
	'、': ",", '。': ".", '【': "[", '】': "]", '〔': "[", '〕': "]", '《': "<", '》': ">", '〈': "<", '〉': ">",
	'≠': "!=", '≤': "<=", '≥': ">=", '×': "*", '÷': "/", '−': "-", '–': "-", '—': "-", '￥': "$", '…': "..",
	ideographicSpace: " ",
}

// FindFullWidth returns the first full-width quote, bracket, comma, colon, operator or digit of the text from that character on. Letters, and
// what is a part of a name, are none: a name may be Chinese.
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
