package ledger

import "time"

// Options are those of every engine. The zero value is fine.
type Options struct {
	// Now replaces the database's clock, for tests: leases and expiry are judged by it.
	Now func() time.Time
	// MaxConnections bounds the pool. Defaults to 8; sqlite has one more, for writing.
	MaxConnections int
}

// Migration is one step of the schema.
type Migration struct {
	Version int64
	Name    string
	Applied time.Time // zero = pending
}

// Known is the entry of Forget's set for a rule and scope.
func Known(rule, scope string) string { return rule + "\x00" + scope }
