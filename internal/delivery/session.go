package delivery

import "strings"

// Session is the session of a node, in whose name the node holds lanes, deliveries to push channels and the right to write an index back. internal/session keeps it;
// docs/adr/node-sessions.md tells why.
type Session interface {
	// Hold returns the id, and a channel that is closed as soon as another node may have ended the session. "" and a closed channel = there is none in force:
	// then the node takes nothing and begins nothing.
	Hold() (id string, lapsed <-chan struct{})
	// Holds tells whether Hold would return that id now.
	Holds(id string) bool
}

// SessionID makes the id of a session of the node.
func SessionID(node, unique string) string { return node + "/" + unique }

// NodeName returns the name of the node whose session it is.
func NodeName(session string) string {
	name, _, _ := strings.Cut(session, "/")
	return name
}
