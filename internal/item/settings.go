package item

import (
	"context"
	"slices"
	"time"
)

// NoLimit is the MaxAttempts of a queue whose items never die, however often they fail.
const NoLimit = 0

// Settings are the settings of a queue that operators may change at run time. A test twin has the settings of its
// queue.
type Settings struct {
	Lease        time.Duration   // length of a lease, unless the worker asks for another
	MaxAttempts  int             // number of failures after which an item is dead, or NoLimit
	SuspendSteps []time.Duration // durations of the first and the further suspends of an item
}

// LiveSettings are the settings of a queue that operators have changed; nil = the configuration counts.
type LiveSettings struct {
	Lease        *time.Duration
	MaxAttempts  *int
	SuspendSteps []time.Duration // empty but not nil = no item may be suspended

	By string    // who changed the settings last
	At time.Time // when they changed them; zero = never
}

// The names of the settings, as the API has them.
const (
	LeaseSetting        = "lease"
	MaxAttemptsSetting  = "maxAttempts"
	SuspendStepsSetting = "suspendSteps"
)

// SettingNames returns the names of all settings.
func SettingNames() []string { return []string{LeaseSetting, MaxAttemptsSetting, SuspendStepsSetting} }

// Over returns the settings in force: the live ones, and the configured ones where no live one is set.
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

// Names returns the names of the settings that are set.
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

// Equal tells whether both have the same settings. It ignores By and At.
func (l *LiveSettings) Equal(o *LiveSettings) bool {
	return equal(l.Lease, o.Lease) && equal(l.MaxAttempts, o.MaxAttempts) &&
		(l.SuspendSteps == nil) == (o.SuspendSteps == nil) && slices.Equal(l.SuspendSteps, o.SuspendSteps)
}

func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// SettingsChange is an operator's change. Settings that neither Set nor Reset names stay as they are.
type SettingsChange struct {
	Set   LiveSettings // By and At are those of the change
	Reset []string     // names of settings that return to the configuration
}

// Apply returns the live settings after the change.
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

// InForce returns the settings in force.
func (s *QueueSettings) InForce() Settings { return s.Live.Over(s.Configured) }

// SettingsRecord keeps the settings of queues that operators have changed.
type SettingsRecord interface {
	// QueueSettings returns the live settings of a queue; the zero value where nobody ever changed one.
	QueueSettings(ctx context.Context, queue string) (LiveSettings, error)
	// ChangeQueueSettings applies the change to the settings that the ledger has at that moment, and writes an audit
	// record. A change without effect leaves no record. The ledger sets the action, object and states of the order.
	ChangeQueueSettings(ctx context.Context, o *Order, queue string, c SettingsChange) error
}
