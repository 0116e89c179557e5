// Package message renders the titles and bodies of notices from the rows of a probe.
//
// A template is Go's text/template, reduced to the parts that a notice needs: columns, if, with, variables and a few
// helpers. Reference lists the helpers. A helper sees only its arguments. Parse reads a template over one row.
// ParseRows reads a template over the rows of a group or a result, with range. A budget bounds the work of a rendering.
// There are no named templates and no clock. So rendering ends soon, and the same rows always give the same text. A
// Fault has its offset in the template.
package message
