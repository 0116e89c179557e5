package systemd

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// lookEvery is the time between two looks at the loops where systemd has no watchdog for the service.
const lookEvery = 10 * time.Second

// Manager is the service manager of this process. Its methods may be called from many goroutines.
type Manager struct {
	log   *slog.Logger
	every time.Duration      // The time between two looks at the loops.
	send  func(state string) // Sends a state to systemd.
	now   func() string      // Returns the assignment of MONOTONIC_USEC.
	alive string             // The message for systemd's watchdog. Empty where there is no watchdog.
}

// Open reads from the environment where systemd listens, and how often its watchdog wants to hear of the service.
func Open(log *slog.Logger) *Manager {
	m := &Manager{log: log, every: lookEvery, now: daemon.SdNotifyMonotonicUsec}
	var failed atomic.Bool // The last send failed. The log has an error once, and not again until a send has succeeded.
	m.send = func(state string) {
		_, err := daemon.SdNotify(false, state)
		if failed.Swap(err != nil) {
			return
		}
		if err != nil {
			log.Error("The state of the service could not be sent to systemd. The node goes on.", "state", state, "error", err)
		}
	}
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Error("The time limit of the watchdog of systemd could not be read. Systemd will restart the node.", "error", err)
	}
	if limit > 0 {
		m.every, m.alive = limit/2, daemon.SdNotifyWatchdog // Systemd recommends half of the limit.
	}
	return m
}

// Ready says that the service has started.
func (m *Manager) Ready() { m.send(daemon.SdNotifyReady) }

// Reload says that the service reloads, calls reload, and says that the service is ready again.
func (m *Manager) Reload(reload func()) {
	m.send(m.now() + daemon.SdNotifyReloading)
	defer m.Ready()
	reload()
}

// Stopping says that the service stops.
func (m *Manager) Stopping() { m.send(daemon.SdNotifyStopping) }

// Watch looks at the loops until the context ends. stuck returns the names of the loops that do not turn. While a loop
// is stuck, the watchdog hears nothing, and systemd restarts the service after the time limit.
func (m *Manager) Watch(ctx context.Context, stuck func() []string) {
	tick := time.NewTicker(m.every)
	defer tick.Stop()
	var known []string
	for {
		now := stuck()
		switch {
		case len(now) > 0 && !slices.Equal(now, known):
			m.log.Error("Loops of the node are stuck. Where systemd has a watchdog for the node, systemd restarts it.", "loops", now)
		case len(now) == 0 && len(known) > 0:
			m.log.Info("The loops of the node turn again.", "loops", known)
		}
		if known = now; len(now) == 0 && m.alive != "" {
			m.send(m.alive)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
