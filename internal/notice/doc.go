// Package notice is the leaf type of Tallyman: the typed message that a finding becomes, and its forms
// in JSON, XML and protobuf.
//
// Notice is the message, View a notice as one reader sees it, Form what clients get of it. ID makes the id of a notice, which is the same wherever a firing
// is repeated. Marshal and Unmarshal are the form that the ledger and Redis keep. CheckSent and CheckRequest hold the limits.
//
// The package imports nothing of ours but the policy of texts, and does no I/O.
package notice
