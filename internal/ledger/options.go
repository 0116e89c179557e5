package ledger

import "time"

// Options are those of every engine. The zero value is fine.
type Options struct {
	// Now replaces the database's clock, for tests: leases and expiry are judged by it.
	Now func() time.Time
	// MaxConnections bounds the pool. Defaults to 8; sqlite has one more, for writing.
	MaxConnections int
	// Step is called between the steps of every change that has a record, for tests that end the process there; nil = nothing is.
	Step func(step string)
}

// The steps of a change that has a record: the change was written, then its record, and then both were committed.
const (
	StepChanged   = "changed"
	StepRecorded  = "recorded"
	StepCommitted = "committed"
)

// Migration is one step of the schema.
type Migration struct {
	Version int64
	Name    string
	Applied time.Time // zero = pending
}

// Known is the entry of Forget's set for a rule and scope.
func Known(rule, scope string) string { return rule + "\x00" + scope }

// Steps is Step, which does nothing where there is none.
func (o *Options) Steps() func(step string) {
	if o.Step == nil {
		return func(string) {}
	}
	return o.Step
}
