// Package scanners is the contract between the engine and the databases that probes read.
//
// Each driver is a package below this one. A driver declares a Driver: the form of its addresses, and how a source is
// opened. A table in internal/app lists the drivers; nothing else knows them.
//
// A Source never writes. It bounds what it reads of a row (Limits), and refuses functions that may write (Functions).
// Its errors are *Error, either permanent or transient. The suite in scannertest checks every driver against this
// contract.
package scanners
