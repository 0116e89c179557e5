// Package notice is the leaf type of Tallyman: the typed message that a finding becomes, and its forms
// in JSON, XML and protobuf. It imports nothing of ours.
package notice

import "time"

// Status is what a notice says about its finding.
type Status string

// The statuses.
const (
	Firing   Status = "firing"
	Resolved Status = "resolved"
	Event    Status = "event" // a row of a rule of mode event
	Sent     Status = "sent"  // by a business system
)

// Notice is one typed message. Its JSON, XML and protobuf forms carry the same names.
type Notice struct {
	ID        string
	Type      string
	TypeID    int64
	Warehouse string
	Rule      string
	Scope     string
	Key       string // canonical JSON array
	Episode   string // opaque to clients; the due time (µs) of the firing that opened the finding; an event's watermark values as an array; a name of the request that sent it
	Status    Status
	Priority  int    // 1 (low) … 5 (high)
	Modal     string // silent | popup
	Title     string
	Body      string
	Texts     map[string]Text // translations by language
	Data      []Field
	Labels    map[string]string
	Count     int       // findings it stands for
	CreatedAt time.Time // µs
	ExpiresAt time.Time // µs
}

// Text is a translation of title and body.
type Text struct {
	Title string
	Body  string
}

// Field is one typed value of the data, in the order of the catalogue. Value is nil, string, int64 or bool;
// decimals and times are strings (a time as RFC 3339 in UTC).
type Field struct {
	Name  string
	Value any
}

// View is a notice as one reader sees it.
type View struct {
	*Notice
	Score int64 // the warehouse clock at its delivery, µs
	Read  bool
	Acked bool
}
