// Package engine is the flow of Tallyman: it runs the rules on their schedules and hands what they find to the
// sinks.
//
//	rule → firing → scan → condition → findings → notices → ledger → sinks
//	       plan.go  scan.go judge_*.go finding/   compose.go commit.go deliver.go
//	       unit.go                     alert.go   digest.go
//	       claim.go
//
// pipeline.go has the run of one firing from top to bottom. Around it stand the loops, each in its own file:
//
//	unit.go     one for each enabled rule and scope: verify, wait for the due time, claim, run
//	deliver.go  one for each sink: find the lanes with something to deliver; lane.go drains one
//	reclaim.go  one: finds firings that a dead node has left
//	janitor.go  one: removes what is too old
//
// Nodes are equal. They all plan the same firings, and the ledger's claims decide who runs one. What
// a run found is written in one transaction, and only then delivered.
package engine
