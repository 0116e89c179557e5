// Package message turns the rows of a probe into words.
//
// A template is Go's text/template cut down to what a notice needs: columns, if and with, variables, and a few helpers that see nothing but their
// arguments (Reference lists them). Parse is for one row; ParseRows has range over the rows of a group or result, within a budget. There are no named
// templates and no clock, so rendering ends soon and gives the same text twice. A Fault names the line and column in the rule file.
package message
