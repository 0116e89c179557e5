package api

import (
	"maps"
	"net/http"
	"slices"
)

// SingleHeaders are those that may come once.
func SingleHeaders() []string { return slices.Sorted(maps.Keys(singleHeaders)) }

// IsSingleHeader tells whether a header may come once only.
func IsSingleHeader(name string) bool { return singleHeaders[http.CanonicalHeaderKey(name)] }
