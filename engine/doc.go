// Package engine is the core of Tallyman. It runs the rules on their schedules, and hands the notices of their findings
// to the sinks.
//
//	rule → firing → scan → condition → findings → notices → ledger → sinks
//	       plan.go  [ judge                             ]  firing.go deliver.go
//	       unit.go
//	       claim.go
//
// A firing is one rule, in one scope, at one time that its schedule makes due. A run is a firing that a node has
// claimed, from the claim to its record in the ledger. A pass is one scan of a run and what follows from the scan, up
// to its commit. A run has several passes where a rule of mode event has more rows than max_rows. firing.go has a pass
// from top to bottom.
//
// The loops, and the scans that scopes share:
//
//	unit.go     for each enabled rule and scope: verify (verify.go), claim, run
//	timetable.go  one: wakes the units at their due times; a unit that waits has no goroutine
//	scangroup.go  scans that several scopes of a rule share
//	deliver.go  one for each sink: find the lanes with something to deliver, and drain them
//	crew.go     one: starts and ends the units as rules and switches change
//	cluster.go  two: find firings that a dead node has left, and prune the ledger
//	removed.go  one: close the state of removed rules
//
// Nodes are equal. Every node plans the same firings, and the ledger's claims decide which node runs each of them. A
// run writes its findings and notices in one transaction. After the commit the node delivers the notices.
//
// Package judge makes findings and notices of the rows. Package why explains a finding. Package trial runs a rule
// without writing anything. The engine knows no implementation of a ledger, a source or a sink.
package engine
