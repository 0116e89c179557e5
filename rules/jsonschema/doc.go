// Package jsonschema makes a JSON Schema of the types that strictyaml decodes, so that an editor knows what the program takes.
//
// Of reads a Go type with the same tags as strictyaml: names, required fields, bounds and descriptions therefore never differ from what is decoded. A
// type with a form of its own is a Schemer. The schema is draft-07, which yaml-language-server and the editors' own validators read. Package
// jsonschema validates nothing.
package jsonschema
