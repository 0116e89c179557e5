// Package deliver describes where notices go: the entries of `deliver` in rules and in types.
//
// An Entry names a sink and says how to deliver. Names and Entry.Faults check entries by themselves. Sinks.Check checks
// them against the sinks of a site. A Fault has the path of a field, but no place in a file. The caller has the file
// and adds the place.
package deliver
