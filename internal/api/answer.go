package api

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

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

// HeaderValue is a HeaderValue's value, its lines joined. The name is in canonical form.
func HeaderValue(r *http.Request, name string) string {
	lines := r.Header[name]
	if len(lines) == 1 {
		return lines[0]
	}
	return strings.Join(lines, ",")
}
