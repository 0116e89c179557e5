// Package page is what a reader asks of the inbox and gets: queries, pages and cursors. It knows no Redis.
package page

import (
	"errors"

	"tallyman/engine/notice"
)

// The sizes of a page.
const (
	DefaultLimit = 50
	MaxLimit     = 200
)

// The errors that a reader can be told.
var (
	ErrBadCursor   = errors.New("inbox: the cursor is not one that this service gave out")
	ErrBadQuery    = errors.New("inbox: a query needs a warehouse, subscribers and a limit of at most 200")
	ErrUnavailable = errors.New("inbox: the index is not in reach or being rebuilt")
)

// Query asks for the notices of some subscribers in one warehouse. After wins over Since; without either the
// window is the last three days.
type Query struct {
	Warehouse   string
	Subscribers []string // user:<id>, role:<id>; sorted and unique
	Types       []string // codes; empty = all; sorted and unique
	After       string   // a cursor
	Since       int64    // ms since 1970: delivered at or after; 0 = absent
	Limit       int      // 1 … MaxLimit
}

// Page is an answer. Notices ascend in the order of delivery.
type Page struct {
	Notices    []notice.View
	Changes    []Change
	Cursor     string
	Unread     int // exact to 999
	UnreadMore bool
	More       bool
	Reset      bool
	Version    string // the ETag, without quotes: equal versions mean equal answers to the same query
	Clock      int64  // the score that Cursor stands for, µs
	// Removed lists what the inboxes had lost when the page was read, whatever Cursor says of it. CursorAt needs it.
	Removed []Removed
}

// Change tells that another window of the same user changed a notice's state.
type Change struct {
	ID    string
	Kind  string // read | acked
	Score int64  // its place among the notices: µs of the warehouse's clock
}
