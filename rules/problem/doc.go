// Package problem says what is wrong with a file that a person wrote, and where.
//
// A Problem has a stable code (docs/reference/error-codes.md), the file, line and column, the message, a hint that says what to do, and the text of the line. A
// List has the problems of one or several files; a reader of files collects all of them and does not stop at the first. DidYouMean finds the name
// that a person meant.
//
// Package problem prints nothing: the command line, the API and the console each show a Problem in their own form.
package problem
