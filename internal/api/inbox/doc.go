// Package inbox serves the notices of users and roles: polls, streams, marks, the summary of a small window, and the
// list of the old web service.
//
// Polls are answered from Redis (sinks/inbox). A poll with a cursor returns the notices after the cursor: none is
// missed and none comes twice. An entity tag tells a client that nothing is new. With wait the server holds back the
// answer until something is new. A stream has the page of a poll and then all later notices. Streams with the same
// query share a feed, which polls once for all of them.
//
// A mark is written to the ledger first, and then to Redis. A caller reads the inboxes of the token; parameters can
// only choose among these inboxes.
//
// The package does not search. Package search finds notices in the ledger.
package inbox
