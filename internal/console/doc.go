// Package console holds the console for operators and the inbox widget. Both are pages that use only the public API.
// Their source is in the folder web. Vite builds the folder dist, which is committed and embedded, so that building the
// program needs no Node.js.
//
// Pages serves both, with headers that block foreign scripts and let browsers cache files that never change. It does
// not serve the paths of the API, and it checks no token: a page needs a token only when it calls the API.
package console
