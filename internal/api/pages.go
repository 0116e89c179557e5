package api

import "net/http"

// Pages serves what people look at: the console. Serve reports false, and has done nothing, where the request is for no page.
type Pages interface {
	Serve(w http.ResponseWriter, r *http.Request) bool
}

// withPages answers for pages before anybody is asked for a token: they hold nothing of the warehouse, and load what they show
// through the API.
func (a *API) withPages(next http.Handler) http.Handler {
	if a.deps.Pages == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.deps.Pages.Serve(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}
