// Package catalog is the type catalogue: the types of notices that a site has, and the typed fields of each type.
//
// A Catalog maps the code of a type to the Type. Load and Parse read a file of types strictly, and report every fault
// with its place. BuiltIn returns the types that Tallyman itself sends. Their codes begin with TALLYMAN_, and a file
// cannot declare such a code. The code and the id of a type are unique within a catalogue.
//
// The package only reads files. The catalogue that is in force is in the ledger. Rules, subscriptions and callers that
// send notices name its types.
package catalog
