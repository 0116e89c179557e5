package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tallyman/internal/notice"
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

// LegacyPath is what old clients ask. They understand XML alone, whatever their library says as Accept.
const LegacyPath = Base + "/legacy/listNotifications"

// ProblemMedia is the form for a problem: the one that the client asked for, JSON where it accepts neither.
func ProblemMedia(r *http.Request) Media {
	if r.URL.Path == LegacyPath {
		return MediaXML
	}
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

// maxLanguages bounds how much of an Accept-Language header is read.
const maxLanguages = 16

// Languages reads an Accept-Language header: the tags that the client wants in lower case, best first. The
// wildcard and refused tags (q=0) are left out, because without a match a notice speaks its first language anyway.
func Languages(header string) []string {
	if header == "" {
		return nil
	}
	type wish struct {
		tag string
		q   float64
	}
	var wishes []wish
	for item := range strings.SplitSeq(header, ",") {
		tag, params, _ := strings.Cut(item, ";")
		tag = strings.ToLower(strings.TrimSpace(tag))
		if q := quality(params); q > 0 && isLanguageTag(tag) {
			wishes = append(wishes, wish{tag, q})
		}
		if len(wishes) == maxLanguages {
			break
		}
	}
	slices.SortStableFunc(wishes, func(a, b wish) int {
		switch {
		case a.q > b.q:
			return -1
		case a.q < b.q:
			return 1
		}
		return 0
	})
	tags := make([]string, len(wishes))
	for i, w := range wishes {
		tags[i] = w.tag
	}
	return tags
}

func isLanguageTag(s string) bool {
	if s == "" || len(s) > 35 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// Localize is the notice in the first of the languages that it has, or as it is.
func Localize(n *notice.Notice, langs []string) *notice.Notice {
	for _, lang := range langs {
		if l := n.Localize(lang); l != n {
			return l
		}
	}
	return n
}
