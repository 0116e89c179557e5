// Package engine is the flow of Tallyman: it runs the rules on their schedules and hands what they find to the
// sinks.
//
//	rule → firing → scan → condition → findings → notices → ledger → sinks
//	       plan.go  [ judge                             ]  firing.go deliver.go
//	       unit.go
//	       claim.go
//
// A firing is what a schedule makes due: one rule, in one scope, at one time. A run is a firing that a node has
// claimed, from the claim to its record in the ledger. A pass is one scan of a run and what follows from that scan, up
// to its commit; a run has several where a rule of mode event has more rows than max_rows. firing.go has a pass from
// top to bottom.
//
// Around it stand the loops:
//
//	unit.go     for each enabled rule and scope: verify (verify.go), claim, run
//	timetable.go  one: wakes the units at their due times; a unit that waits has no goroutine
//	scangroup.go  scans that several scopes of a rule share
//	deliver.go  one for each sink: find the lanes with something to deliver, and drain them
//	crew.go     one: starts and ends the units as rules and switches change
//	cluster.go  three: say that this node is there, find firings that a dead node has left, remove what is too old
//	removed.go  one: close what removed rules have left
//
// Nodes are equal. They all plan the same firings, and the ledger's claims decide who runs one. What
// a run found is written in one transaction, and only then delivered.
//
// Folder judge decides what a run tells, why explains a finding, trial tries a rule without a ledger. The engine knows
// no implementation of a ledger, a source or a sink.
package engine
