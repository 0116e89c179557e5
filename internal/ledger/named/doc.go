// Package named reads SQL files that hold several statements, each under a header:
//
//	-- name: claim
//	-- What it is for. Arguments: $1 rule … Result: …
//	UPDATE …
//
// Queries are read when the program starts: a file that is wrong is a fault of the program, and so is a name that no file has. Comments of a whole
// line stay in the files.
package named
