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

// The errors of a query.
var (
	ErrBadCursor     = errors.New("inbox: this service did not give out the cursor")
	ErrForeignCursor = errors.New("inbox: the cursor is of another warehouse")
	ErrBadQuery      = errors.New("inbox: a query needs a warehouse, 1 to 100 subscribers and a limit of at most 200")
	ErrUnavailable   = errors.New("inbox: the index in Redis cannot be reached, or is being rebuilt")
)

// Query asks for the notices of some subscribers in one warehouse. If After is set, Since is ignored. Without both, the
// query begins three days ago.
type Query struct {
	Warehouse   string
	Subscribers []string // user:<id>, role:<id>; sorted and unique
	Types       []string // codes or ids; empty = all; sorted and unique
	Unread      bool     // only notices that the reader has not read
	After       string   // a cursor
	Since       int64    // ms since 1970: notices delivered at or after this time; 0 means not set
	Limit       int      // 1 … MaxLimit
	Plain       bool     // without changes
}

// Reader returns the user whose marks the answer shows: the only user among the subscribers. Without a user, or with
// several, there is no reader, and no notice is shown as read.
func (q Query) Reader() string { return Reader(q.Subscribers) }

// Reader returns the only user among the subscribers, or "" if there is none or more than one.
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

// Page is the answer to a query. The changes come first: they concern notices that the reader got before this page. The
// notices are in the order of delivery, and each is shown as the changes have left it.
type Page struct {
	Notices    []notice.View
	Changes    []Change
	Cursor     string
	Unread     int // exact to 999
	UnreadMore bool
	More       bool
	Reset      bool        // the cursor is not valid any more; the page is the beginning of a new window
	Reason     ResetReason // why Reset is set
	Missed     int         // after a reset: notices delivered after the cursor that no page will have; -1 means not known
	Version    string      // the ETag, without quotes: equal versions mean equal answers to the same query
	Clock      int64       // the score up to which the reader has the notices after this page, µs
	From       int64       // the score up to which the reader had the notices before this page
	// Settled is the beginning of a millisecond, in µs. If a notice lies in a millisecond before Settled, no later notice
	// gets a score in that same millisecond.
	Settled int64
	// Removed lists for each inbox that has lost notices the highest score that was removed when the page was read. It
	// does not depend on the cursor. Events needs it.
	Removed []Removed
}

// ResetReason says why a cursor is not valid any more.
type ResetReason string

// The reasons.
const (
	ResetIndexRebuilt ResetReason = "index_rebuilt" // Redis was lost and written back
	// ResetTrimmed: an inbox was full, and notices after the cursor were removed
	ResetTrimmed ResetReason = "trimmed"
	// ResetTooOld: the record of what the user has read since the cursor is partly forgotten
	ResetTooOld ResetReason = "too_old"
	// ResetTooManyChanges: the user has read more notices since the cursor than a page can list
	ResetTooManyChanges ResetReason = "too_many_changes"
	ResetForeignCursor  ResetReason = "foreign_cursor" // the cursor belongs to another warehouse
	// ResetSubscribersChanged: the cursor belongs to other subscribers: a role was granted or taken away
	ResetSubscribersChanged ResetReason = "subscribers_changed"
	// ResetFilterChanged: the cursor belongs to other types, or to another value of unread
	ResetFilterChanged ResetReason = "filter_changed"
	// ResetCursorAhead: the cursor is ahead of the inboxes: the notices that it covers were never recorded
	ResetCursorAhead ResetReason = "cursor_ahead"
)

// ResetReasons returns all reasons.
func ResetReasons() []ResetReason {
	return []ResetReason{
		ResetIndexRebuilt, ResetTrimmed, ResetTooOld, ResetTooManyChanges, ResetForeignCursor, ResetSubscribersChanged, ResetFilterChanged,
		ResetCursorAhead,
	}
}

// Change says that the reader has read or acked a notice, perhaps in another window. An acked notice is read, too.
type Change struct {
	ID    string
	Kind  string // Read | Acked
	Score int64  // when, in µs of the warehouse's clock; all changes of one read-all have the same score
}

// The kinds of changes.
const (
	Read  = "read"
	Acked = "acked"
)

// Summary has the counts, the popups and the newest notices of some inboxes, for a small window.
type Summary struct {
	Unread     int // exact to 999
	UnreadMore bool
	Popups     []notice.View // modal notices that the reader has not acked, oldest first
	PopupsMore bool          // there are more than MaxPopups
	Latest     []notice.View // newest first
	Version    string        // the version of a poll without a cursor
}

// The sizes of a summary.
const (
	MaxPopups = 50
	Latest    = 5
)

// Event is one step through a page: a notice, or all changes of one moment.
type Event struct {
	Notice  *notice.View // nil if the event has changes
	Changes []Change
	// Cursor is the place where a reader goes on after it has processed all events up to this event. The reader then
	// misses nothing and repeats nothing.
	Cursor string
}

// Events splits the page into events, in the order in which a reader must process them: first the changes, then the
// notices. The last event has the cursor of the page.
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

// Start returns the cursor before the page's first event. A reader that was told to start again continues with it.
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

// at returns the cursor of a place in the page.
func (p *Page) at(end *Cursor, score, changes int64) string {
	c := Cursor{Epoch: end.Epoch, Score: score, Changes: changes, Query: end.Query}
	for _, r := range p.Removed {
		if r.Score > score {
			c.Removed = append(c.Removed, r)
		}
	}
	return c.Encode()
}
