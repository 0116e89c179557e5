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

// WriteForm answers 200 with a value that has a form in JSON and in XML.
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
	if err != nil { // nothing was sent yet: the request ends as a 500 with the error in the log
		panic(err)
	}
	writeBody(w, m, buf.Bytes())
}

// writeBody answers 200 with the body.
func writeBody(w http.ResponseWriter, m Media, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentTypes[m]
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = w.Write(body) // the client may have gone
}

var contentTypes = map[Media][]string{
	MediaJSON:    {"application/json"},
	MediaXML:     {"application/xml; charset=utf-8"},
	MediaTextXML: {"text/xml; charset=utf-8"},
}

// HeaderValue is a header's value, its lines joined. The name is in canonical form.
func HeaderValue(r *http.Request, name string) string {
	lines := r.Header[name]
	if len(lines) == 1 {
		return lines[0]
	}
	return strings.Join(lines, ",")
}

// throughBuffer writes what is appended for the value.
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

// AppendJSON appends the value in JSON, raw, with an escape for what no text may have.
func AppendJSON(buf *bytes.Buffer, v any) error {
	start := buf.Len()
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false) // people read user:<id>, and nobody puts an answer into a page as it is
	if err := e.Encode(v); err != nil {
		return err
	}
	replace(buf, start, policy.EscapeJSON)
	return nil
}

// appendXML appends the value in XML, with a visible mark for what no text may have: XML has no way to write most of that. Where the encoder has put
// U+FFFD, or a line begins anew without a line feed, the value is looked through; that is seldom.
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
	replace(buf, start, policy.Mark) // in what only its own package can reach
	return nil
}

// replace puts what comes of the end of the buffer in its place.
func replace(buf *bytes.Buffer, start int, by func([]byte) []byte) {
	made := buf.Bytes()[start:]
	if other := by(made); len(other) != len(made) { // marks and escapes are longer
		buf.Truncate(start)
		buf.Write(other)
	}
}

// bufferPool lends the memory that answers are written into.
type bufferPool struct{ pool sync.Pool }

// buffers is shared, as a pool has to be.
var buffers bufferPool

// maxPooled keeps one large answer from holding its memory for good.
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
