package api

import (
	"slices"
	"strings"

	"tallyman/internal/notice"
)

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
