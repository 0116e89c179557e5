package api

import (
	"bytes"
	"encoding/xml"
	"maps"
	"net/http"
	"strconv"
)

// Problem is an error as clients see it: RFC 9457, in JSON or in the XML of its appendix B, with a stable code.
type Problem struct { //nolint:errname // the RFC's word
	XMLName   xml.Name `json:"-" xml:"urn:ietf:rfc:7807 problem"`
	Title     string   `json:"title" xml:"title" doc:"the HTTP status in words"`
	Status    int      `json:"status" xml:"status" doc:"the HTTP status"`
	Detail    string   `json:"detail" xml:"detail" doc:"what is wrong with this request, for a person"`
	Code      Code     `json:"code" xml:"code" doc:"what is wrong, for a program; never renamed" example:"bad_cursor"`
	RequestID string   `json:"requestId,omitempty" xml:"requestId,omitempty" doc:"names the request in the server's log"`
	Errors    []Fault  `json:"errors,omitempty" xml:"errors>i,omitempty" doc:"the single faults, where there are several" nullable:"false"`

	retryAfter int    // seconds; 0 = say nothing
	challenge  string // WWW-Authenticate; "" = say nothing
}

// Fault is one of several things that are wrong.
type Fault struct {
	Location string `json:"location,omitempty" xml:"location,omitempty" doc:"where, e.g. body.fields.bin.type"`
	Message  string `json:"message" xml:"message" doc:"what"`
}

// newProblem makes a problem with the title that the status has.
func newProblem(status int, code Code, detail string) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

// Error is the detail, so that a handler can return a problem as its error.
func (p *Problem) Error() string { return string(p.Code) + ": " + p.Detail }

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType names a problem's own media types.
func (p *Problem) ContentType(ct string) string {
	if ct == string(mediaJSON) {
		return "application/problem+json"
	}
	return "application/problem+xml"
}

// GetHeaders are those that go with the problem.
func (p *Problem) GetHeaders() http.Header {
	if p.retryAfter == 0 && p.challenge == "" {
		return nil
	}
	h := http.Header{}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	if p.challenge != "" {
		h.Set("WWW-Authenticate", p.challenge)
	}
	return h
}

// encode writes the problem in the form.
func (p *Problem) encode(m media) []byte {
	appended := appendJSON
	if m != mediaJSON {
		appended = appendXML
	}
	var b bytes.Buffer
	if err := appended(&b, p); err != nil { // a struct of strings and numbers always encodes
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// write answers a request of the plain handlers with the problem.
func (p *Problem) write(w http.ResponseWriter, m media) {
	p.RequestID = w.Header().Get(requestIDHeader)
	body := p.encode(m)
	h := w.Header()
	maps.Copy(h, p.GetHeaders())
	h.Set("Content-Type", p.ContentType(string(m)))
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the client may have gone
}
