// Package console holds the console for operators and the inbox widget: pages that are clients of the public API and nothing else.
// Their source is in web, what Vite makes of it in dist, which is committed and embedded: building the program takes no Node.
package console
