// Package problem describes what is wrong with a file that a person wrote, and where.
//
// A Problem has a stable code (docs/reference/error-codes.md), a place (file, line and column), a message, a hint that says what
// to do, and the text of the line. A List holds the problems of one or more files. A reader of files collects all
// problems and does not stop at the first one, so that the author can fix them in one go. DidYouMean finds the name
// that the author probably meant.
//
// Package problem prints nothing. The command line, the API and the console each show a Problem in their own form.
package problem
