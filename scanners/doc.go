// Package scanners is the contract between the engine and the databases that probes read.
//
// Each driver is a package below this one. It declares a Driver: the form of its addresses and how a source is opened. A table in internal/app lists the
// drivers; nothing else knows them. A Source never writes, bounds what it takes of a row (Limits), and refuses functions that may write (Functions). Its
// errors are *Error, permanent or transient. The suite in scannertest holds every driver against this contract.
package scanners
