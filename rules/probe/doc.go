// Package probe reads the SQL of a rule as text: it finds the :name parameters, rewrites them for a
// driver, and refuses whatever is not one read-only statement. It knows tokens, not grammar; the
// read-only transaction of the scanner is the second lock.
package probe
