// Package view makes forms of what more than one part of the API shows: rules and their runs, deliveries, sinks, queues.
//
// Its functions are pure: they take what the ledger, the engine or a queue has answered, and return the form of package wire. ServedSink and
// ServedQueue are what the API is told of a sink and of a queue, so that all who show one show the same. What a single part of the API shows it
// makes itself.
package view
