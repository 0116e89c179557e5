// Package catalog is the type catalogue: which types of notices a site has, and which typed fields the notices of a type carry.
//
// A Catalog maps the code of a type to the Type. Load and Parse read a file of types strictly, and report every fault with its place. BuiltIn has the
// types that Tallyman itself sends; their codes begin with TALLYMAN_, and a file cannot declare such a code. A type's number and name are unique
// within a catalogue.
//
// The package only reads. The ledger keeps the catalogue that is in force; rules, sends and subscriptions name its types.
package catalog
