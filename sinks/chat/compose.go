package chat

import (
	"bytes"
	"encoding/json"
	"strings"
)

// asJSON encodes what is made of strings and numbers.
func asJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// jsonPost is a call with a JSON body.
func jsonPost(url string, body any) (*post, error) {
	b, err := asJSON(body)
	if err != nil {
		return nil, err
	}
	return &post{url: url, header: map[string]string{"Content-Type": "application/json"}, body: b}, nil
}

// whole is title and text together, for services that have no title.
func (m *message) whole() string {
	if m.title == "" || m.title == m.text {
		return m.text
	}
	return strings.TrimSuffix(m.title+"\n"+m.text, "\n")
}

// body is the text beside a title that is shown by itself.
func (m *message) body() string {
	if m.text == m.title {
		return ""
	}
	return m.text
}

// color is that of a bar beside the message, where there are such.
func (m *message) color() int {
	switch {
	case m.resolved:
		return 0x2e7d32
	case m.priority >= 4:
		return 0xc62828
	default:
		return 0x1565c0
	}
}

func trim(s string) string { return strings.Trim(s, "\n ") }

// any2xx is the answer of services that say all by their status.
type any2xx struct{}

func (any2xx) read([]byte) error { return nil }
