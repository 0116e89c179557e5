package sinktest

// Session is a session that is always in force.
type Session string

// Hold returns the session.
func (s Session) Hold() (string, <-chan struct{}) { return string(s), nil }

// Holds tells whether it is that.
func (s Session) Holds(id string) bool { return id == string(s) }
