package page

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"slices"
)

// Cursor is a place in the order of delivery. To clients it is an opaque text.
type Cursor struct {
	Epoch string // the epoch of the index that gave out the cursor
	Score int64  // the warehouse clock, µs: the reader has seen every notice up to this score
	// Changes is the warehouse clock up to which the reader knows the marks of those notices. While the reader still has
	// pages to read, Changes is ahead of Score, because a page shows the marks at the time of its reading.
	Changes int64
	Query   Hash // the query of the page that returned the cursor
	// Removed lists the inboxes from which the cap has removed notices above Score. It has only removals that a reset has
	// reported to the client. Without this list, a client could get the same reset again and again: the client reads page
	// by page, and another of its inboxes may still have older notices. Ascending by Inbox.
	Removed []Removed
}

// Removed says that the notices of an inbox up to a score are gone.
type Removed struct {
	Inbox int   // index in Query.Subscribers
	Score int64 // above the score of the cursor
}

// Hash identifies a query's warehouse (4 bytes), subscribers (4 bytes) and filter (types and unread, 4 bytes). The
// subscribers change when a role is granted or taken away.
type Hash [12]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// SameWarehouse tells whether both hashes are of queries of the same warehouse.
func (h Hash) SameWarehouse(other Hash) bool { return [4]byte(h[:4]) == [4]byte(other[:4]) }

// SameSubscribers tells whether both hashes are of queries of the same subscribers.
func (h Hash) SameSubscribers(other Hash) bool { return [4]byte(h[4:8]) == [4]byte(other[4:8]) }

// HashWarehouse returns the hash of a query that has only a warehouse.
func HashWarehouse(warehouse string) Hash { return Query{Warehouse: warehouse}.Hash() }

// The text of a cursor is base64url of: the version (3), the query's hash, the score (big endian), then as varints:
// Changes minus the score, the number of Removed, and for each its inbox and its score minus the score of the cursor.
// The epoch comes last.
const (
	cursorVersion = 3
	cursorHash    = len(Hash{})
	cursorHead    = 1 + cursorHash + 8
	maxText       = 8192
	maxInbox      = 1<<16 - 1
	maxScore      = 1<<53 - 1 // the largest integer that a Redis score holds exactly
)

var cursorEncoding = base64.RawURLEncoding.Strict()

// Encode returns the text of the cursor.
func (c Cursor) Encode() string {
	b := make([]byte, 0, cursorHead+1+12*len(c.Removed)+len(c.Epoch))
	b = append(b, cursorVersion)
	b = append(b, c.Query[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Score)) //nolint:gosec // never negative
	b = binary.AppendVarint(b, c.Changes-c.Score)
	b = binary.AppendUvarint(b, uint64(len(c.Removed)))
	for _, r := range c.Removed {
		b = binary.AppendUvarint(b, uint64(r.Inbox))         //nolint:gosec // never negative
		b = binary.AppendUvarint(b, uint64(r.Score-c.Score)) //nolint:gosec // never negative
	}
	b = append(b, c.Epoch...)
	return cursorEncoding.EncodeToString(b)
}

// DecodeCursor reads a text of Encode. DecodeCursor returns ErrBadCursor for any other text.
func DecodeCursor(text string) (Cursor, error) {
	if len(text) > maxText {
		return Cursor{}, ErrBadCursor
	}
	b, err := cursorEncoding.DecodeString(text)
	if err != nil || len(b) <= cursorHead || b[0] != cursorVersion {
		return Cursor{}, ErrBadCursor
	}
	score := binary.BigEndian.Uint64(b[1+cursorHash : cursorHead])
	if score > maxScore {
		return Cursor{}, ErrBadCursor
	}
	c := Cursor{Score: int64(score), Query: Hash(b[1 : 1+cursorHash])}
	ahead, size := binary.Varint(b[cursorHead:])
	c.Changes = c.Score + ahead
	if size <= 0 || ahead > maxScore || c.Changes < 0 || c.Changes > maxScore {
		return Cursor{}, ErrBadCursor
	}
	var rest []byte
	var ok bool
	c.Removed, rest, ok = decodeRemoved(c.Score, b[cursorHead+size:])
	c.Epoch = string(rest)
	// Only the text that Encode would write is accepted: no line breaks, no varints that are longer than needed.
	if !ok || !validEpoch(rest) || c.Encode() != text {
		return Cursor{}, ErrBadCursor
	}
	return c, nil
}

func decodeRemoved(score int64, b []byte) (out []Removed, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)) {
		return nil, nil, false
	}
	b = b[size:]
	last := -1
	for range n {
		inbox, size := binary.Uvarint(b)
		if size <= 0 || inbox > maxInbox || int(inbox) <= last {
			return nil, nil, false
		}
		above, more := binary.Uvarint(b[size:])
		if more <= 0 || above == 0 || above > maxScore {
			return nil, nil, false
		}
		last = int(inbox)
		out = append(out, Removed{Inbox: last, Score: score + int64(above)})
		b = b[size+more:]
	}
	return out, b, true
}

func validEpoch(b []byte) bool {
	for _, ch := range b {
		if ch != '-' && (ch < '0' || ch > '9') && (ch < 'a' || ch > 'z') {
			return false
		}
	}
	return len(b) > 0
}

// Hash identifies the warehouse, the subscribers and the filter of the query. The place where the query begins and the
// size of its pages do not matter.
func (q Query) Hash() Hash {
	var h Hash
	b := make([]byte, 0, 512)
	sum := sha256.Sum256(append(b, q.Warehouse...))
	copy(h[:4], sum[:])
	sum = sha256.Sum256(appendList(b, q.Subscribers))
	copy(h[4:8], sum[:])
	if len(q.Types) == 0 && !q.Unread {
		return h
	}
	b = appendList(b, q.Types)
	if q.Unread {
		b = append(b, 2)
	}
	sum = sha256.Sum256(b)
	copy(h[8:], sum[:])
	return h
}

func appendList(b []byte, list []string) []byte {
	for _, s := range list {
		b = append(append(b, s...), 1)
	}
	return b
}

// Normal returns the query with sorted, unique lists and a limit, or ErrBadQuery.
func (q Query) Normal() (Query, error) {
	if q.Warehouse == "" || len(q.Subscribers) == 0 || len(q.Subscribers) > MaxSubscribers || q.Since < 0 || q.Limit < 0 || q.Limit > MaxLimit {
		return q, ErrBadQuery
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	q.Subscribers = sortedUnique(q.Subscribers)
	q.Types = sortedUnique(q.Types)
	return q, nil
}

// sortedUnique returns the list sorted and without repeats. sortedUnique copies the list only if it must change
// something.
func sortedUnique(list []string) []string {
	for i := 1; i < len(list); i++ {
		if list[i-1] >= list[i] {
			list = slices.Clone(list)
			slices.Sort(list)
			return slices.Compact(list)
		}
	}
	return list
}
