// Package page defines the queries, pages and cursors with which readers poll an inbox.
//
// A Query names the warehouse, the subscribers and the limit. A Page has the notices, the changes, and the Cursor to
// continue with. A Cursor is opaque to clients: DecodeCursor refuses every text that this service did not give out. A
// ResetReason says why a reader must start again. The package does not know Redis.
package page
