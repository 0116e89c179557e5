// Package notice has the notice that a rule makes of a finding, or that a business system sends, and its forms in JSON,
// XML and protobuf.
//
// Notice is a notice. View is a notice as one reader sees it, and Form is a notice as clients get it. ID makes the id
// of a notice; a repeated firing gives the same id. Marshal and Unmarshal encode a notice for the ledger and Redis.
// CheckSent and CheckRequest check the limits.
//
// The package is a leaf: of this program it imports only internal/text, the policy of texts, and its own protobuf code.
// It does no I/O.
package notice
