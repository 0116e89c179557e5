// Package jsonschema makes a JSON Schema from the Go types that strictyaml decodes, so that an editor knows what a file
// may hold.
//
// Of reads the same tags as strictyaml. Names, required fields, bounds and descriptions of the schema therefore always
// match the decoder. A type that decodes itself describes its form as a Schemer. The schema is draft-07, because
// yaml-language-server and the validators of editors read that draft. Package jsonschema itself validates nothing.
package jsonschema
