// Package console holds the console for operators and the inbox widget: pages that are clients of the public API and
// nothing else. Their source is in web, what Vite makes of it in dist, which is committed and embedded: building the
// program takes no Node.
//
// Pages serves both, with the headers that keep foreign scripts out and let browsers keep what does not change. The
// paths of the API are none of its own, and it knows nobody who calls: whoever gets a page still has to show the API a
// token.
package console
