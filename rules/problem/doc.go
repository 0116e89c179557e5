// Package problem describes what is wrong with a file that a person wrote, and where.
//
// A Problem has a stable code, a place (file, line and column), a message, a hint that says what to do, and the text of
// the line. docs/reference/error-codes.md lists the codes. A List holds the problems of one or more files. A function
// that reads a file collects all problems and does not stop at the first one. So the author can fix all problems in one
// go. DidYouMean finds the name that the author probably meant.
//
// Package problem prints nothing. The command line, the API and the console each show a Problem in their own form.
package problem
