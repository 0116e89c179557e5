package systemd

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatch: the watchdog hears of the service at half of its limit, and not while a loop is stuck.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var heard []time.Duration
		began := time.Now()
		var log strings.Builder
		m := &Manager{log: slog.New(slog.NewTextHandler(&log, nil)), every: 10 * time.Second, alive: "WATCHDOG=1", send: func(state string) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, time.Since(began))
			if state != "WATCHDOG=1" {
				t.Errorf("systemd was told %q", state)
			}
		}}
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() {
			m.Watch(ctx, func() []string {
				if at := time.Since(began); at > 15*time.Second && at < 45*time.Second {
					return []string{"timetable"}
				}
				return nil
			})
		})
		time.Sleep(55 * time.Second) //nolint:forbidigo // in a bubble
		cancel()
		done.Wait()
		if want := []time.Duration{0, 10 * time.Second, 50 * time.Second}; !slices.Equal(heard, want) {
			t.Errorf("the watchdog heard of the service at %s, want %s", heard, want)
		}
		if stuck, again := strings.Count(log.String(), "are stuck"), strings.Count(log.String(), "turn again"); stuck != 1 || again != 1 {
			t.Errorf("the log says %d times that a loop is stuck, and %d times that it turns again:\n%s", stuck, again, log.String())
		}
	})
}

// TestNoWatchdog: without a watchdog systemd hears nothing of loops, and the log still tells of one that is stuck.
func TestNoWatchdog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		m := Open(slog.New(slog.NewTextHandler(&log, nil)))
		m.send = func(state string) { t.Errorf("systemd was told %q", state) }
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		m.Watch(ctx, func() []string { return []string{"session"} })
		if !strings.Contains(log.String(), "[session]") {
			t.Errorf("the log says %q", log.String())
		}
	})
}

// TestSocketIsGone: the log says once that systemd does not hear of the service, however often the watchdog wants to.
func TestSocketIsGone(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "gone"))
	var log strings.Builder
	m := Open(slog.New(slog.NewTextHandler(&log, nil)))
	m.Ready()
	m.Ready()
	m.Stopping()
	if n := strings.Count(log.String(), "could not be sent"); n != 1 {
		t.Errorf("the log says it %d times:\n%s", n, log.String())
	}
}
