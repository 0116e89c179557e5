// Package demo shows Tallyman at work. A simulated warehouse makes mistakes, and the rules of examples/wms find them.
// WMS clients poll the notices over HTTP, and forklifts take items from a queue. Everything runs in this process.
//
// Run runs the whole demo, for the command line. A show is a running demo: the simulator of package warehouse and a
// node of internal/app run on the same Clock, which is faster than the wall clock. The narrator writes the lines and
// the summary that people read.
//
// The demo keeps nothing: it deletes the folder of its files at the end. It listens on loopback addresses only.
package demo
