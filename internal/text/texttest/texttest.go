package texttest

import (
	"fmt"
	"strings"
	"testing"

	"tallyman/internal/text"
)

// All has every character up to U+00A0, the characters that turn the direction of text, their allowed neighbours, the
// two characters that XML cannot hold, and bytes that are not UTF-8, such as halves of surrogate pairs.
func All() string {
	var b strings.Builder
	for r := rune(0); r <= 0xa0; r++ {
		fmt.Fprintf(&b, "a%cb", r)
	}
	for r := rune(0x200b); r <= 0x206f; r++ {
		fmt.Fprintf(&b, "a%cb", r)
	}
	b.WriteString("\ufeff\ufffd\ufffe\uffff\U0001F980货位\xff\xc3(\xed\xa0\x80\xed\xbf\xbf\xc0\x80\xf4\x90\x80\x80")
	return b.String()
}

// Each has All itself, texts with line breaks, texts with bytes that are not UTF-8, and two texts for each character of
// All.
func Each() []string {
	list := []string{All(), "\r\n", "\n\r", " \n ", "\xed\xa0\x80", "\xff"}
	for _, r := range All() {
		list = append(list, "a"+string(r)+"b", string(r))
	}
	return list
}

// Valid is All without the bytes that are not UTF-8. JSON and protobuf can carry it.
func Valid() string { return strings.ToValidUTF8(All(), "") }

// Visible fails the test where a text for people has characters that people cannot see.
func Visible(t testing.TB, what, shown string) {
	t.Helper()
	if fault := text.Check(shown, text.Lines); fault != nil {
		t.Errorf("%s shows a text of which %v: %.300q", what, fault, shown)
	}
}

// Marked fails the test where a text for people does not show All with visible marks.
func Marked(t testing.TB, what, shown string) {
	t.Helper()
	Visible(t, what, shown)
	for _, mark := range []string{"[U+0000]", "[U+001B]", "[U+007F]", "[U+0085]", "[U+009B]", "[U+202E]", "[U+2069]", "货位"} {
		if !strings.Contains(shown, mark) {
			t.Errorf("%s does not show %s: %.300q", what, mark, shown)
		}
	}
}
