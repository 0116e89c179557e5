// Package page is what a reader asks of an inbox and gets: queries, pages and cursors.
//
// A Query names the warehouse, the readers and the bound; a Page has the changes and the Cursor behind them. A Cursor is opaque to clients:
// DecodeCursor refuses every text that this service did not give out. A ResetReason says why a reader must begin anew. The package knows no Redis.
package page
