// Package body checks the JSON bodies of requests against their schemas in the OpenAPI document. The package reads a
// body once, before any code decodes the body. Before the check, Schema.FromXML converts a body in XML to JSON.
//
// Compile converts a schema of huma to a Schema. A body that passes the check has exactly the names, kinds and bounds
// of the document, in JSON that every reader reads in the same way. A Fault names the place. At most 100 faults are
// collected, and a list that is too long ends the check. The package keeps no part of a body. docs/adr/strict-json.md
// explains why huma's own check is off.
package body
