// Package view makes the forms that more than one room of the API shows: rules and their runs, deliveries, sinks and
// queues.
//
// Most functions only convert values of the ledger, the engine or a queue to forms of package wire. CountPending reads
// the counts of deliveries from the ledger. ServedSink and ServedQueue describe a sink and a queue to the API, so that
// all rooms show the same. A form that only one room shows is made in that room.
package view
