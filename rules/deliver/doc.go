// Package deliver is where notices go: the entries of `deliver`, in rules and in types.
//
// An Entry names a sink and says how. Names and Entry.Faults report what is wrong with entries by themselves, Sinks.Check what is wrong with them at a
// site. Whoever has the file puts the faults into their places.
package deliver
