// Package named reads SQL files that hold several statements, each under a header:
//
//	-- name: claim
//	-- What it is for. Arguments: $1 rule … Result: …
//	UPDATE …
//
// Queries are read when the program starts. A malformed file, and a name that no file has, are bugs of the program,
// so both panic. Lines that are comments are left out of the statements.
package named
