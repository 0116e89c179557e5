// Package demo is Tallyman's main job to look at: a simulated warehouse makes mistakes, the rules of examples/wms find
// them, WMS clients poll the notices over HTTP, and forklifts take the work that comes of them. Everything runs in this
// process.
//
// Run is the whole of it, for the command line. A show is a running demo: the warehouse of package warehouse moves on
// by a Clock that is faster than the wall clock, and a node of internal/app runs on the same clock. What people read,
// line by line and in the summary, is the narrator's.
//
// The demo keeps nothing: its files lie in a folder that goes when it ends. It listens on loopback addresses alone.
package demo
