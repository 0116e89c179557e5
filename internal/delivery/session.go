package delivery

import "strings"

// Session is the session of a node. The session owns the node's lanes, its claims of deliveries to push channels and
// the right to rebuild an index. internal/session keeps it; docs/adr/node-sessions.md tells why.
type Session interface {
	// Hold returns the id of the session, and a channel that is closed as soon as another node may have ended the
	// session. Without a session in force it returns "" and a closed channel; the node must then claim nothing and
	// begin nothing.
	Hold() (id string, lapsed <-chan struct{})
	// Holds tells whether Hold would return this id now.
	Holds(id string) bool
}

// SessionID makes the id of a session of the node. unique tells apart the sessions of the same node.
func SessionID(node, unique string) string { return node + "/" + unique }

// NodeName returns the name of the node that a session belongs to.
func NodeName(session string) string {
	name, _, _ := strings.Cut(session, "/")
	return name
}
