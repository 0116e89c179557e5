// Package body checks the JSON bodies of requests against their schemas in the OpenAPI document, in one pass and before anything is made of them.
//
// Compile makes a Schema of huma's. What a Schema lets through has exactly the names, the kinds and the bounds that the document says, in JSON that
// every reader reads in the same way. A Fault names the place; at most 100 are collected, and a list that is too long ends the pass. Nothing of the
// body is kept. docs/adr/strict-json.md says why huma's own check is off.
package body
