package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tallyman/internal/item"
	"tallyman/rules/strictyaml"
)

// liveSettings are the settings in force for a queue and its twin. They come from the configuration; a setting that an
// operator has set replaces the configured one. Each call of step.lua gets the settings of that moment. So a change
// affects later calls only: items that are leased or put off keep their times.
type liveSettings struct {
	// reading serializes reads of the ledger, so that an older answer never replaces a newer one.
	reading sync.Mutex
	state   atomic.Pointer[settingsInForce]
}

// settingsInForce are the settings at one moment.
type settingsInForce struct {
	item.Settings // in force

	steps string // the suspend steps as step.lua reads them
	known item.QueueSettings
}

func newLiveSettings(configured item.Settings) *liveSettings {
	s := &liveSettings{}
	s.put(item.QueueSettings{Configured: configured})
	return s
}

func (s *liveSettings) now() *settingsInForce { return s.state.Load() }

func (s *liveSettings) put(known item.QueueSettings) {
	in := &settingsInForce{Settings: known.InForce(), known: known}
	steps := make([]string, len(in.SuspendSteps))
	for i, d := range in.SuspendSteps {
		steps[i] = strconv.FormatInt(d.Microseconds(), 10)
	}
	in.steps = strings.Join(steps, " ")
	s.state.Store(in)
}

// Settings returns the settings of the queue and its twin, and where they come from.
func (q *Queue) Settings() item.QueueSettings { return q.settings.now().known }

// ReadSettings reads the live settings from the ledger and puts them in force on this node. If the ledger does not
// answer, nothing changes.
func (q *Queue) ReadSettings(ctx context.Context) error {
	q.settings.reading.Lock()
	defer q.settings.reading.Unlock()
	live, err := q.o.Ledger.QueueSettings(ctx, q.o.Name)
	if err != nil {
		return fmt.Errorf("read the live settings of queue %s: %w", q.o.Name, err)
	}
	if was := q.settings.now().known.Live; !live.Equal(&was) {
		q.log.Info("Live settings of the queue are in force on this node.", "set", live.Names(), "by", live.By, "at", live.At)
	}
	q.settings.put(item.QueueSettings{Configured: q.o.Settings, Live: live})
	return nil
}

// errNoLedger refuses a change of the settings of a queue without a ledger.
var errNoLedger = errors.New("queue: live settings are kept in the ledger, and this queue has none; set them in the configuration")

// ChangeSettings changes the settings of the queue and its twin. The change and its record are written to the ledger,
// and then put in force on this node. The other nodes follow. Of two changes of the same setting the later one wins.
// The errors are item.InvalidError, the ledger's and the context's.
func (q *Queue) ChangeSettings(ctx context.Context, o *item.Order, c item.SettingsChange) error {
	if err := checkSettings(&c); err != nil {
		return err
	}
	if q.o.Ledger == nil {
		return errNoLedger
	}
	c.Set.By, c.Set.At = o.By, q.lines[0].time().UTC().Truncate(time.Microsecond)
	if err := q.o.Ledger.ChangeQueueSettings(ctx, o, q.o.Name, c); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if err := q.ReadSettings(ctx); err != nil { // only a warning, because the ledger has the change
		q.log.Warn("Settings were changed, but this node could not read them. The node reads them again.", "error", err)
	}
	return nil
}

// checkSettings refuses values that the configuration would refuse, too.
func checkSettings(c *item.SettingsChange) error {
	names := c.Set.Names()
	if len(names)+len(c.Reset) == 0 {
		return invalid("settings", -1, "is empty: name a setting to set or to reset")
	}
	for _, name := range c.Reset {
		switch {
		case !slices.Contains(item.SettingNames(), name):
			return invalid("reset", -1, "must be one of %s", strings.Join(item.SettingNames(), ", "))
		case slices.Contains(names, name):
			return invalid("reset", -1, "names %s, which is set as well", name)
		}
	}
	if lease := c.Set.Lease; lease != nil {
		if fault := strictyaml.RangeFault(*lease, boundsOf("Lease")); fault != "" {
			return invalid(item.LeaseSetting, -1, "is %s, %s", strictyaml.FormatDuration(*lease), fault)
		}
	}
	if most := c.Set.MaxAttempts; most != nil && *most != item.NoLimit {
		if fault := strictyaml.RangeFault(*most, boundsOf("MaxAttempts")); fault != "" {
			return invalid(item.MaxAttemptsSetting, -1, "is %d, %s", *most, fault)
		}
	}
	return checkSteps(c.Set.SuspendSteps)
}

func checkSteps(steps []time.Duration) error {
	if fault := tooManySteps(steps); fault != "" {
		return invalid(item.SuspendStepsSetting, -1, "%s", fault)
	}
	for i, d := range steps {
		if fault := strictyaml.RangeFault(d, boundsOf("SuspendSteps")); fault != "" {
			return invalid(item.SuspendStepsSetting, -1, "has %s at place %d, %s", strictyaml.FormatDuration(d), i+1, fault)
		}
	}
	return nil
}
