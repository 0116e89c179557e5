// Package tallyman follows inboxes of Tallyman and works on its queues. The package has the parts that every such
// program needs and that are hard to write: cursors that survive a kill, pauses between attempts, leases that are
// extended in time, and a stop that loses nothing.
//
// [Inbox.Follow] calls a handler for each notice of an inbox, once and in order. [Queue.Work] calls a handler for items
// of a queue, several at a time, and reports the outcome of each item to the queue. All other operations are in
// [Client.API], which is generated from the OpenAPI document.
//
// The package stores no notices, and shows no inbox to people (the widget does). After a kill of the process a handler
// can get the same notice or item again, so handlers must be idempotent.
//
// Package api is the client that oapi-codegen generates from the OpenAPI document. Package api has the operations of
// programs: inboxes, sending, queues, types and subscriptions. Use package api for operations that package tallyman
// does not offer.
package tallyman
