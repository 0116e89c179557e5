// Package app puts Tallyman together: it is the only place that knows every implementation. New opens what the
// configuration names, Run runs it until the context ends, and both fail with words that say what to do.
package app
