// Package logging makes the log of a node: New writes lines as text or as JSON, from a level on that may be changed while the node runs.
//
// A message is constant text, and is the key of its event: what differs stands in the attributes. docs/how-to/logs.md says which attributes,
// docs/reference/logs.md lists the messages. No event of a request, a notice or a delivery is written at INFO; a Burst makes a few lines of
// many events of one kind.
package logging
