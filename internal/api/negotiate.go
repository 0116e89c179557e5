package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tallyman/internal/notice"
)

// Media is the media type of an answer. Answers in text/xml differ from answers in application/xml only in the header.
type Media string

// The media types.
const (
	MediaJSON    Media = "application/json"
	MediaXML     Media = "application/xml"
	MediaTextXML Media = "text/xml"
	MediaEvents  Media = "text/event-stream" // For streams only.
)

// offered lists the media types by preference; the first one wins between equal q-values. A client may also name the
// media type of problems.
var offered = [...]struct {
	media   Media
	problem string
}{
	{MediaJSON, "application/problem+json"},
	{MediaXML, "application/problem+xml"},
	{MediaTextXML, ""},
}

// Negotiate picks the media type of the answer. Negotiate returns false if the client accepts none of the offered
// types.
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

// negotiateHeader evaluates every range of an Accept header. By RFC 9110 the most specific range that matches a media
// type decides its weight, and q=0 excludes the type.
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

// matches returns how specifically a range names a media type: 0 = not at all, 3 = by its full name. Old Java clients
// send * for */*.
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

// quality returns the q parameter of a range, or 1 if it is missing or invalid.
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

// LegacyPath is the path of the old web service. Clients of the old web service only understand XML, whatever Accept
// header their library sends.
const LegacyPath = Base + "/legacy/listNotifications"

// ProblemMedia returns the media type for a problem: the type that the client asked for, or JSON if the client accepts
// none of the offered types.
func ProblemMedia(r *http.Request) Media {
	if r.URL.Path == LegacyPath {
		return MediaXML
	}
	if m, ok := Negotiate(r); ok {
		return m
	}
	return MediaJSON
}

// AcceptsEvents tells whether the client accepts a stream of events.
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

// maxLanguages is the number of languages that are read from an Accept-Language header.
const maxLanguages = 16

// Languages returns the language tags of an Accept-Language header in lower case, the best first. Languages leaves out
// the wildcard and tags with q=0, because without a match a notice has its first language anyway.
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

// Localize returns the notice in the first of the languages that the notice has, or the notice itself if it has none of
// them. The notice's own title and body may be in any language: the notice only says of its translations which language
// they are in.
func Localize(n *notice.Notice, langs []string) *notice.Notice {
	for _, lang := range langs {
		if l := n.Localize(lang); l != n {
			return l
		}
	}
	return n
}
