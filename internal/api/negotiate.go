package api

import (
	"net/http"
	"strconv"
	"strings"
)

// Media is a form that an answer can have. Answers in text/xml differ from those in application/xml by the header only.
type Media string

// The forms.
const (
	MediaJSON    Media = "application/json"
	MediaXML     Media = "application/xml"
	MediaTextXML Media = "text/xml"
	MediaEvents  Media = "text/event-stream" // of streams, which have no other
)

// offered lists the forms in our order of preference, which decides between equal q-values. A client may also name
// a form by its problem type.
var offered = [...]struct {
	media   Media
	problem string
}{
	{MediaJSON, "application/problem+json"},
	{MediaXML, "application/problem+xml"},
	{MediaTextXML, ""},
}

// Negotiate picks the form of the answer, or reports false where the client accepts none of ours.
func Negotiate(r *http.Request) (Media, bool) {
	lines := r.Header["Accept"]
	if len(lines) == 0 {
		return MediaJSON, true
	}
	accept := lines[0]
	if len(lines) > 1 {
		accept = strings.Join(lines, ",")
	}
	switch accept {
	case "", "*/*", "application/json":
		return MediaJSON, true
	case "application/xml":
		return MediaXML, true
	}
	return negotiateHeader(accept)
}

// negotiateHeader weighs every range of an Accept header. As RFC 9110 has it, the most specific range that
// matches a form gives its weight, and q=0 rules it out.
func negotiateHeader(accept string) (Media, bool) {
	var best [len(offered)]struct {
		weight   float64
		specific int
	}
	for item := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(item, ";")
		name = strings.ToLower(strings.TrimSpace(name))
		q := quality(params)
		for i := range best {
			at := matches(name, string(offered[i].media), offered[i].problem)
			if b := &best[i]; at > b.specific || at > 0 && at == b.specific && q > b.weight {
				b.specific, b.weight = at, q
			}
		}
	}
	var form Media
	var weight float64
	for i := range best {
		if best[i].weight > weight {
			form, weight = offered[i].media, best[i].weight
		}
	}
	return form, weight > 0
}

// matches says how specifically a range names a form: 0 not at all, 3 by its own name. A lone * is what old Java
// clients send for */*.
func matches(name, form, problem string) int {
	switch {
	case name == form || name == problem && problem != "":
		return 3
	case strings.HasSuffix(name, "/*") && name != "*/*" && strings.HasPrefix(form, name[:len(name)-1]):
		return 2
	case name == "*/*" || name == "*":
		return 1
	}
	return 0
}

// quality reads the q of a range's parameters; 1 where it is absent or no number.
func quality(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		name, value, ok := strings.Cut(strings.TrimSpace(p), "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && q >= 0 && q <= 1 {
			return q
		}
	}
	return 1
}

// ProblemMedia is the form for a problem: the one that the client asked for, JSON where it accepts neither.
func ProblemMedia(r *http.Request) Media {
	if m, ok := Negotiate(r); ok {
		return m
	}
	return MediaJSON
}

// AcceptsEvents tells whether the client takes a stream.
func AcceptsEvents(r *http.Request) bool {
	accept := HeaderValue(r, "Accept")
	if accept == "" {
		return true
	}
	best, weight := 0, 0.0
	for item := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(item, ";")
		if at := matches(strings.ToLower(strings.TrimSpace(name)), string(MediaEvents), ""); at > 0 && at >= best {
			best, weight = at, quality(params)
		}
	}
	return weight > 0
}
