// Package message renders the titles and bodies of notices from the rows of a probe.
//
// A template is Go's text/template, reduced to what a notice needs: columns, if and with, variables, and a few helpers
// that see only their arguments (Reference lists them). Parse reads a template over one row. ParseRows reads a template
// over the rows of a group or a result, with range. A budget bounds its work. There are no named templates and no
// clock. So rendering ends soon, and the same rows always give the same text. A Fault has its offset in the template.
package message
