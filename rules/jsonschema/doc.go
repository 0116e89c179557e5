// Package jsonschema makes a JSON Schema of the types that strictyaml decodes, so that an editor knows what the program takes. It
// is draft-07: what every version of yaml-language-server and the editors' own validators read.
package jsonschema
