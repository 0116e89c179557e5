// Package logging makes the log of a node. New writes lines as text or as JSON. The level of the log may change while
// the node runs.
//
// The message of a line is constant text, and is the key of its event. All that differs between two events is in the
// attributes. docs/how-to/logs.md describes the attributes, and docs/reference/logs.md lists the messages. No event of
// a request, a notice or a delivery is written at INFO. Burst makes a few lines of many events of one kind.
package logging
