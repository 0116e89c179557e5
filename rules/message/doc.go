// Package message turns the rows of a probe into words. A template is Go's text/template cut down to what a
// notice needs: columns, if and with, variables, and a few helpers that see nothing but their
// arguments. It has no named templates, no clock, and range goes over the rows of a group or result only, as far as
// a budget allows: rendering ends soon and gives the same text twice.
package message
