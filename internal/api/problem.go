package api

import (
	"bytes"
	"maps"
	"net/http"
	"strconv"

	"tallyman/internal/wire"
)

// encodeProblem writes the problem in the form.
func encodeProblem(p *wire.Problem, m Media) []byte {
	appended := AppendJSON
	if m != MediaJSON {
		appended = appendXML
	}
	var b bytes.Buffer
	if err := appended(&b, p); err != nil { // a struct of strings and numbers always encodes
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// WriteProblem answers a request of the plain handlers with the problem.
func WriteProblem(w http.ResponseWriter, p *wire.Problem, m Media) {
	p.RequestID = w.Header().Get(requestIDHeader)
	body := encodeProblem(p, m)
	h := w.Header()
	maps.Copy(h, p.GetHeaders())
	h.Set("Content-Type", p.ContentType(string(m)))
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the client may have gone
}
