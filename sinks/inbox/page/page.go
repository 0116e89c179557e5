package page

import (
	"errors"
	"strings"

	"tallyman/internal/notice"
)

// The sizes of a page.
const (
	DefaultLimit = 50
	MaxLimit     = 200

	MaxSubscribers = 100
)

// The errors that a reader can be told.
var (
	ErrBadCursor     = errors.New("inbox: the cursor is not one that this service gave out")
	ErrForeignCursor = errors.New("inbox: the cursor is of another warehouse")
	ErrBadQuery      = errors.New("inbox: a query needs a warehouse, 1 to 100 subscribers and a limit of at most 200")
	ErrUnavailable   = errors.New("inbox: the index is not in reach or being rebuilt")
)

// Query asks for the notices of some subscribers in one warehouse. After wins over Since; without either the
// window is the last three days.
type Query struct {
	Warehouse   string
	Subscribers []string // user:<id>, role:<id>; sorted and unique
	Types       []string // codes or ids; empty = all; sorted and unique
	Unread      bool     // only what the reader has not read
	After       string   // a cursor
	Since       int64    // ms since 1970: delivered at or after; 0 = absent
	Limit       int      // 1 … MaxLimit
	Plain       bool     // without changes, for those who have no use for them
}

// Reader is the user whose read state the answer shows: the one among the subscribers. Without a user, or with several, there
// is none, and nothing is read.
func (q Query) Reader() string { return Reader(q.Subscribers) }

// Reader is the only user among the subscribers, "" where there is none, or more than one.
func Reader(subscribers []string) string {
	reader := ""
	for _, s := range subscribers {
		switch {
		case !strings.HasPrefix(s, "user:"):
		case reader != "":
			return ""
		default:
			reader = s
		}
	}
	return reader
}

// Page is an answer. The changes come first: they are about notices that the reader was given before this page. The notices
// ascend in the order of delivery, and each is as the changes have left it.
type Page struct {
	Notices    []notice.View
	Changes    []Change
	Cursor     string
	Unread     int // exact to 999
	UnreadMore bool
	More       bool
	Reset      bool        // the cursor does not hold any more; this is a fresh window
	Reason     ResetReason // of Reset
	Missed     int         // after Reset: notices delivered after the cursor that no page will have; -1 = not known
	Version    string      // the ETag, without quotes: equal versions mean equal answers to the same query
	Clock      int64       // the score up to which the reader has the notices, µs
	From       int64       // the score up to which it had them before
	// Settled is the beginning of a millisecond, µs. Where a millisecond before it has a notice, no later notice gets a score in that millisecond.
	Settled int64
	// Removed lists what the inboxes had lost when the page was read, whatever Cursor says of it. Events needs it.
	Removed []Removed
}

// ResetReason says why a cursor does not hold any more.
type ResetReason string

// The reasons.
const (
	ResetIndexRebuilt       ResetReason = "index_rebuilt"       // Redis was lost and written back
	ResetTrimmed            ResetReason = "trimmed"             // an inbox was full, and notices after the cursor had to go
	ResetTooOld             ResetReason = "too_old"             // what the user has read since the cursor is partly forgotten
	ResetTooManyChanges     ResetReason = "too_many_changes"    // the user has read more since the cursor than a page can tell
	ResetForeignCursor      ResetReason = "foreign_cursor"      // the cursor is of another warehouse
	ResetSubscribersChanged ResetReason = "subscribers_changed" // the cursor is of other subscribers: a role was granted or taken away
	ResetFilterChanged      ResetReason = "filter_changed"      // the cursor is of other types, or of another value of unread
	ResetCursorAhead        ResetReason = "cursor_ahead"        // the cursor is ahead of the inboxes: what it saw was never recorded
)

// ResetReasons are all of them.
func ResetReasons() []ResetReason {
	return []ResetReason{
		ResetIndexRebuilt, ResetTrimmed, ResetTooOld, ResetTooManyChanges, ResetForeignCursor, ResetSubscribersChanged, ResetFilterChanged,
		ResetCursorAhead,
	}
}

// Change tells that the reader has read or acked a notice, perhaps in another window. What is acked is read, too.
type Change struct {
	ID    string
	Kind  string // Read | Acked
	Score int64  // when, µs of the warehouse's clock; those of one read-all share it
}

// The kinds of changes.
const (
	Read  = "read"
	Acked = "acked"
)

// Summary is what a small window shows of some inboxes.
type Summary struct {
	Unread     int // exact to 999
	UnreadMore bool
	Popups     []notice.View // modal ones that the reader has not acked, oldest first
	PopupsMore bool          // there are more than MaxPopups
	Latest     []notice.View // newest first
	Version    string        // of what a poll without a cursor would show
}

// The sizes of a summary.
const (
	MaxPopups = 50
	Latest    = 5
)

// Event is a step through a page: a notice, or the changes of one moment.
type Event struct {
	Notice  *notice.View // nil = it is the changes
	Changes []Change
	Cursor  string // by which a reader goes on that has taken all up to here: it misses nothing and gets nothing twice
}

// Events takes the page apart, in the order in which a reader must take it: the changes, then the notices. The last one has
// the cursor of the page.
func (p *Page) Events() ([]Event, error) {
	end, err := DecodeCursor(p.Cursor)
	if err != nil {
		return nil, err
	}
	var out []Event
	for i := 0; i < len(p.Changes); {
		to := i + 1
		for to < len(p.Changes) && p.Changes[to].Score == p.Changes[i].Score {
			to++
		}
		out = append(out, Event{Changes: p.Changes[i:to], Cursor: p.at(&end, p.From, p.Changes[i].Score)})
		i = to
	}
	for i := range p.Notices {
		v := &p.Notices[i]
		out = append(out, Event{Notice: v, Cursor: p.at(&end, v.Score, end.Changes)})
	}
	if len(out) > 0 {
		out[len(out)-1].Cursor = p.Cursor
	}
	return out, nil
}

// Start is the cursor in front of the page's first event. A reader that was told to begin anew goes on with it.
func (p *Page) Start() (string, error) {
	end, err := DecodeCursor(p.Cursor)
	switch {
	case err != nil:
		return "", err
	case len(p.Changes) > 0:
		return p.at(&end, p.From, p.Changes[0].Score-1), nil
	case len(p.Notices) > 0:
		return p.at(&end, p.Notices[0].Score-1, end.Changes), nil
	}
	return p.Cursor, nil
}

// at is the cursor of a place in the page.
func (p *Page) at(end *Cursor, score, changes int64) string {
	c := Cursor{Epoch: end.Epoch, Score: score, Changes: changes, Query: end.Query}
	for _, r := range p.Removed {
		if r.Score > score {
			c.Removed = append(c.Removed, r)
		}
	}
	return c.Encode()
}
