// Package app puts one node of Tallyman together: it is the only place that knows every implementation.
//
// New opens what the configuration names, Run runs it until the context ends, Close gives it back; all fail with words
// that say what to do. An App has the ledger, the sources, the sinks (inbox and queues in Redis, push channels), the
// rules in force, the engine and the API. It keeps the node in step with its surroundings: with the rule files
// (watch.go, reload.go), and with what other nodes have written to the ledger (follow.go).
//
// It promises that rules run only once it is recorded that they do, that a bad rule file leaves the last good version
// in force, and that a part which is out of reach and may come back stops nothing. Types is the table of the types of
// sinks and of the drivers of sources: a new one is a line there.
//
// It holds no logic of rules, notices or deliveries: that is the engine's and the sinks'. What authors of rules ask for
// is in internal/authoring.
package app
