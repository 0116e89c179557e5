// Package strictyaml decodes YAML files that people write, and reports every fault of a file at once.
//
// Parse turns a file into a tree of Nodes that know their places. File.Decode fills a struct from a node. It refuses
// unknown fields, repeated keys, wrong types and values out of range. Merge lays one tree over another, and the values
// keep the places where they were written. Each fault is a problem.Problem with line, column, the line's text and a
// hint.
//
// Anchors, aliases and merge keys work. Parse refuses an alias that contains itself, and aliases that expand a small
// file into a huge one. A file holds one document.
package strictyaml

// The codes of this package's problems. docs/reference/error-codes.md has an example of each code.
const (
	CodeNotUTF8    = "not_utf8"
	CodeText       = "bad_text" // text.Code
	CodeTooLarge   = "file_too_large"
	CodeSyntax     = "yaml_syntax"
	CodeDocuments  = "multiple_documents"
	CodeAlias      = "alias_loop"
	CodeExpansion  = "alias_expansion"
	CodeTag        = "unknown_tag"
	CodeDuplicate  = "duplicate_field"
	CodeUnknown    = "unknown_field"
	CodeMissing    = "missing_field"
	CodeType       = "wrong_type"
	CodeEnum       = "unknown_value"
	CodeOutOfRange = "out_of_range"
	CodeDuration   = "bad_duration"
)
