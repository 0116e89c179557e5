package api

import (
	"net/url"
	"slices"
	"strings"

	policy "tallyman/internal/text"
	"tallyman/internal/wire"
)

// Params calls set with every parameter of a raw query that has a value; a parameter without one (limit=) counts
// as absent. It stops at the first problem.
func Params(raw string, set func(name, value string) *wire.Problem) *wire.Problem {
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := unescape(name)
		if err != nil {
			return BadParameter("the query is not well escaped: " + err.Error())
		}
		if value, err = unescape(value); err != nil {
			return BadParameter("parameter " + name + " is not well escaped: " + err.Error())
		}
		if p := checkText("query", name, policy.Line); p != nil {
			return p
		}
		if p := checkText("query."+name, value, parameterShape(name)); p != nil {
			return p
		}
		if p := set(name, value); p != nil {
			return p
		}
	}
	return nil
}

// unescape spares the common case the work.
func unescape(s string) (string, error) {
	if !strings.ContainsAny(s, "%+") {
		return s, nil
	}
	return url.QueryUnescape(s)
}

// SortedUnique sorts the list in place and leaves out what comes twice.
func SortedUnique(s []string) []string {
	if len(s) > 1 {
		slices.Sort(s)
		s = slices.Compact(s)
	}
	return s
}
