// Package tallyman follows inboxes of Tallyman and works on its queues. It does what every such program needs and few write well: cursors that survive a
// kill, pauses between tries, leases that are extended, a stop that loses nothing.
//
// [Inbox.Follow] hands each notice of an inbox to a handler, once and in order. [Queue.Work] hands items of a queue to a handler, several at a time, and tells
// the queue what became of each. Everything else is an operation of [Client.API], which is made of the OpenAPI document.
//
// What it does not do: it keeps no notices, and shows no inbox to people (the widget does). A handler may see the same notice or item again after
// its process was killed, so its effects must bear that.
//
// Package api below is the client that oapi-codegen makes of the OpenAPI document, with the operations of programs: inboxes, sending, queues, types and subscriptions. Call
// it for what this package does not offer.
package tallyman
