// Package strictyaml decodes YAML files that people write, and tells them everything that is wrong at once.
//
// Parse turns a file into a tree of Nodes that know their place. File.Decode fills a struct from a
// node and refuses what the struct does not name: unknown fields, repeated keys, wrong types, values
// out of range. Merge lays one tree over another, so that defaults and overrides keep the places they
// were written at. Each fault is a problem.Problem with line, column, the line's text and a hint.
//
// Anchors, aliases and merge keys work; an alias that contains itself, or aliases that blow a small file up
// into a huge one, are refused. A file holds one document.
package strictyaml

// The codes of this package's problems; docs/reference/error-codes.md has an example of each.
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
