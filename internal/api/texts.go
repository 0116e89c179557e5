package api

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"

	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

// checkText holds a text that a client has sent to the policy of texts; at is its place, such as query.key.
func checkText(at, s string, shape policy.Shape) *wire.Problem {
	fault := policy.Check(s, shape)
	if fault == nil {
		return nil
	}
	p := wire.NewProblem(http.StatusBadRequest, wire.CodeBadText, at+": "+fault.Error())
	p.Errors = []wire.Fault{{Location: at, Message: fault.Error()}}
	return p
}

// parameterShape is that of a parameter of the query: a note has lines, wherever it stands.
func parameterShape(name string) policy.Shape {
	if name == "note" {
		return policy.Lines
	}
	return policy.Line
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
