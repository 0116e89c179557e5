package api

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	policy "tallyman/internal/text"
)

// WriteForm answers 200 with a form in JSON or XML.
func WriteForm(w http.ResponseWriter, form any, m Media) {
	buf := buffers.get()
	defer buffers.put(buf)
	buf.Reset()
	var err error
	if m == MediaJSON {
		err = json.NewEncoder(buf).Encode(form)
		replace(buf, 0, policy.EscapeJSON)
	} else {
		err = appendXML(buf, form)
	}
	if err != nil { // Nothing was sent yet, so outer turns the panic into a 500 and logs the error.
		panic(err)
	}
	writeBody(w, m, buf.Bytes())
}

// writeBody answers 200 with the body.
func writeBody(w http.ResponseWriter, m Media, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentTypes[m]
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = w.Write(body) // The client may have disconnected.
}

var contentTypes = map[Media][]string{
	MediaJSON:    {"application/json"},
	MediaXML:     {"application/xml; charset=utf-8"},
	MediaTextXML: {"text/xml; charset=utf-8"},
}

// HeaderValue returns the lines of a header, joined by commas. The name must be in canonical form.
func HeaderValue(r *http.Request, name string) string {
	lines := r.Header[name]
	if len(lines) == 1 {
		return lines[0]
	}
	return strings.Join(lines, ",")
}

// throughBuffer encodes the value into a pooled buffer and writes the result at once, so that an error leaves w
// untouched.
func throughBuffer(w io.Writer, v any, appended func(*bytes.Buffer, any) error) error {
	buf := buffers.get()
	defer buffers.put(buf)
	buf.Reset()
	if err := appended(buf, v); err != nil {
		return err
	}
	_, err := w.Write(buf.Bytes())
	return err
}

// AppendJSON appends the value in JSON. AppendJSON escapes characters that the policy of texts forbids, and nothing
// else.
func AppendJSON(buf *bytes.Buffer, v any) error {
	start := buf.Len()
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false) // People read texts such as user:<id>. Nobody copies an answer into an HTML page unchanged.
	if err := e.Encode(v); err != nil {
		return err
	}
	replace(buf, start, policy.EscapeJSON)
	return nil
}

// appendXML appends the value in XML. appendXML replaces characters that the policy of texts forbids by a visible mark,
// because XML cannot escape most of them. If the encoder has written U+FFFD or a lone carriage return, the value is
// encoded a second time with its texts marked. A second encoding is rare.
func appendXML(buf *bytes.Buffer, v any) error {
	start := buf.Len()
	if err := xml.NewEncoder(buf).Encode(v); err != nil {
		return err
	}
	if made := buf.Bytes()[start:]; bytes.Contains(made, []byte("\uFFFD")) || bytes.Contains(made, []byte("&#xD;")) {
		buf.Truncate(start)
		if err := xml.NewEncoder(buf).Encode(policy.VisibleIn(v)); err != nil {
			return err
		}
	}
	replace(buf, start, policy.Mark) // For texts in unexported fields, which VisibleIn cannot reach.
	return nil
}

// replace applies a function to the part of the buffer from start on.
func replace(buf *bytes.Buffer, start int, by func([]byte) []byte) {
	made := buf.Bytes()[start:]
	if other := by(made); len(other) != len(made) { // Marks and escapes are longer than the characters that they replace, so an equal length means no change.
		buf.Truncate(start)
		buf.Write(other)
	}
}

// bufferPool has buffers for encoding answers.
type bufferPool struct{ pool sync.Pool }

// buffers is the pool that all requests share.
var buffers bufferPool

// maxPooled is the largest buffer that goes back to the pool, in bytes. The memory of a larger answer is freed.
const maxPooled = 256 << 10

func (p *bufferPool) get() *bytes.Buffer {
	if b, ok := p.pool.Get().(*bytes.Buffer); ok {
		return b
	}
	return bytes.NewBuffer(make([]byte, 0, 16<<10))
}

func (p *bufferPool) put(b *bytes.Buffer) {
	if b.Cap() <= maxPooled {
		p.pool.Put(b)
	}
}
