package text

import (
	"io"
	"sync"
	"unicode/utf8"
)

// Writer writes texts for people to another writer, with the marks of Visible. A character may come in parts; its rest is awaited. Several may write at once.
type Writer struct {
	to   io.Writer
	mu   sync.Mutex
	rest []byte // the beginning of a character, or a carriage return whose line feed may follow
}

// NewWriter writes to another writer.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Write writes a part of the text.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := p
	if len(w.rest) > 0 {
		text = append(w.rest, p...)
		w.rest = nil
	}
	whole := len(text) - unfinished(text)
	w.rest = append(w.rest, text[whole:]...)
	if _, err := io.WriteString(w.to, Visible(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what was the beginning of a character, and stays without its rest.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := string(w.rest)
	w.rest = nil
	if rest == "" {
		return nil
	}
	_, err := io.WriteString(w.to, Visible(rest))
	return err
}

// unfinished is how many bytes at the end may be the beginning of something.
func unfinished(p []byte) int {
	if n := len(p); n > 0 && p[n-1] == '\r' {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			break
		}
	}
	return 0
}
