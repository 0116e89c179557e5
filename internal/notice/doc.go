// Package notice has the typed message that a finding becomes, and its forms in JSON, XML and protobuf.
//
// Notice is the message, View a notice as one reader sees it, Form what clients get. ID makes the id of a notice,
// which is the same each time a firing is repeated. Marshal and Unmarshal encode a notice for the ledger and Redis.
// CheckSent and CheckRequest check the limits.
//
// The package is a leaf: it imports only the policy of texts, and does no I/O.
package notice
