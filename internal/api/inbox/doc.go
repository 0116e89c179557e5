// Package inbox serves the notices of users and roles: polls, streams, marks, the summary of a small window, and the list of the old web service.
//
// A poll is answered from Redis (sinks/inbox). A cursor gives what came after it: nothing is missed and nothing comes twice. An entity tag says that
// nothing is new, and an answer may be held back until something is. A stream is the page of a poll and then what comes: streams that ask the same
// share a feed, which polls once for all of them.
//
// A mark goes into the ledger first, and then into Redis. A caller reads the inboxes that the token has; parameters only narrow.
//
// The package does not search: notices of the ledger are found by package search.
package inbox
