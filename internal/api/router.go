package api

import (
	"net/http"
	"strings"

	"tallyman/internal/wire"
)

// router is the standard mux, with problems instead of plain text for what is not there, and a memory of what was
// registered so that a test can hold it against the OpenAPI document.
type router struct {
	*http.ServeMux

	patterns []string // "METHOD /path"
}

// everything is the pattern that is left when no other matches.
const everything = "/"

func newRouter() *router {
	rt := &router{ServeMux: http.NewServeMux()}
	rt.ServeMux.HandleFunc(everything, rt.missing)
	return rt
}

// HandleFunc registers "METHOD /path". The OpenAPI library calls it too.
func (rt *router) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	rt.patterns = append(rt.patterns, pattern)
	rt.ServeMux.HandleFunc(pattern, handler)
}

// missing answers 405 where the path is there with another method, 404 otherwise.
func (rt *router) missing(w http.ResponseWriter, r *http.Request) {
	var allow []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := *r
		other.Method = method
		if _, pattern := rt.Handler(&other); pattern != everything {
			allow = append(allow, method)
		}
		if method == http.MethodGet && len(allow) > 0 {
			allow = append(allow, http.MethodHead) // the mux answers it by GET's handler
		}
	}
	if len(allow) == 0 {
		WriteProblem(w, wire.NewProblem(http.StatusNotFound, wire.CodeNotFound, "there is nothing at this path"), ProblemMedia(r))
		return
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	WriteProblem(w, wire.NewProblem(http.StatusMethodNotAllowed, wire.CodeMethodNotAllowed, "this path takes "+strings.Join(allow, " or ")+" only"), ProblemMedia(r))
}
