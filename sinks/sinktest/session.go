package sinktest

// Session is a session that never ends.
type Session string

// Hold returns the session, and no channel for its end.
func (s Session) Hold() (string, <-chan struct{}) { return string(s), nil }

// Holds tells whether id is this session.
func (s Session) Holds(id string) bool { return id == string(s) }
