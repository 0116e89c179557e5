// Package app puts one node of Tallyman together. Only this package knows every implementation.
//
// New opens the parts that the configuration names, Run runs the node until the context ends, and Close releases the
// parts. Their errors say what to do. An App has the ledger, the sources, the sinks (inbox and queues in Redis, push
// channels), the rules in force, the engine and the API. It follows the rule files (watch.go, reload.go) and the
// changes that other nodes make in the ledger (follow.go).
//
// The package guarantees three things. A rule runs only after the ledger has a record of that version of the rules. A
// bad rule file leaves its last good version in force. A part that is out of reach and may come back stops nothing.
//
// Types lists the types of sinks and the drivers of sources. To add one, add a line there. The package has no logic of
// rules, notices or deliveries; that belongs to the engine and the sinks. The commands for authors of rules are in
// internal/authoring.
package app
