package item

import (
	"context"
	"slices"
	"time"
)

// NoLimit is the MaxAttempts of a queue whose items do not die, however often they fail.
const NoLimit = 0

// Settings are those of a queue that operators may change while it runs. A test twin has the settings of its queue.
type Settings struct {
	Lease        time.Duration   // where a worker asks for no other
	MaxAttempts  int             // failures after which an item is dead; NoLimit
	SuspendSteps []time.Duration // the first and further suspends of an item
}

// LiveSettings are what operators have set of a queue; nil = what the configuration says.
type LiveSettings struct {
	Lease        *time.Duration
	MaxAttempts  *int
	SuspendSteps []time.Duration // empty = none may be suspended

	By string    // who has changed them last
	At time.Time // when; zero = they were never changed
}

// The names of the settings, as the API has them.
const (
	LeaseSetting        = "lease"
	MaxAttemptsSetting  = "maxAttempts"
	SuspendStepsSetting = "suspendSteps"
)

// SettingNames are the names of all.
func SettingNames() []string { return []string{LeaseSetting, MaxAttemptsSetting, SuspendStepsSetting} }

// Over returns the settings that count.
func (l *LiveSettings) Over(configured Settings) Settings {
	s := configured
	if l.Lease != nil {
		s.Lease = *l.Lease
	}
	if l.MaxAttempts != nil {
		s.MaxAttempts = *l.MaxAttempts
	}
	if l.SuspendSteps != nil {
		s.SuspendSteps = l.SuspendSteps
	}
	return s
}

// Names returns the names of those that are set.
func (l *LiveSettings) Names() []string {
	names := []string{}
	for _, one := range []struct {
		name string
		set  bool
	}{{LeaseSetting, l.Lease != nil}, {MaxAttemptsSetting, l.MaxAttempts != nil}, {SuspendStepsSetting, l.SuspendSteps != nil}} {
		if one.set {
			names = append(names, one.name)
		}
	}
	return names
}

// Equal tells whether the same is set, whoever did it.
func (l *LiveSettings) Equal(o *LiveSettings) bool {
	return equal(l.Lease, o.Lease) && equal(l.MaxAttempts, o.MaxAttempts) &&
		(l.SuspendSteps == nil) == (o.SuspendSteps == nil) && slices.Equal(l.SuspendSteps, o.SuspendSteps)
}

func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// SettingsChange is what an operator changes. Settings that it does not name stay as they are.
type SettingsChange struct {
	Set   LiveSettings // By and At are those of the change
	Reset []string     // names of those that go back to the configuration
}

// Apply returns what is set after the change.
func (c *SettingsChange) Apply(before LiveSettings) LiveSettings {
	after := before
	after.By, after.At = c.Set.By, c.Set.At
	if c.Set.Lease != nil || slices.Contains(c.Reset, LeaseSetting) {
		after.Lease = c.Set.Lease
	}
	if c.Set.MaxAttempts != nil || slices.Contains(c.Reset, MaxAttemptsSetting) {
		after.MaxAttempts = c.Set.MaxAttempts
	}
	if c.Set.SuspendSteps != nil || slices.Contains(c.Reset, SuspendStepsSetting) {
		after.SuspendSteps = c.Set.SuspendSteps
	}
	return after
}

// QueueSettings are the settings of a queue and where they come from.
type QueueSettings struct {
	Configured Settings
	Live       LiveSettings
}

// InForce returns the settings that count.
func (s *QueueSettings) InForce() Settings { return s.Live.Over(s.Configured) }

// SettingsRecord keeps what operators have set of queues.
type SettingsRecord interface {
	// QueueSettings returns the zero value for a queue of which nothing was ever set.
	QueueSettings(ctx context.Context, queue string) (LiveSettings, error)
	// ChangeQueueSettings applies the change to what the ledger has at that moment, and leaves a record of who asked. A change that changes
	// nothing leaves none. The action, object and states of the order are the ledger's to say.
	ChangeQueueSettings(ctx context.Context, o *Order, queue string, c SettingsChange) error
}
