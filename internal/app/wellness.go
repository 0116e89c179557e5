package app

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"tallyman/internal/api/metrics"
)

// The bounds of wellness: how old its list may get, and how long who asks for the list waits for a newer one. A
// balancer gives an answer a second or two: a source that hangs must not hold up /readyz.
const (
	wellFor  = 5 * time.Second
	wellWait = 300 * time.Millisecond
)

// wellness remembers what is not well on a node that is ready. It looks in the background.
type wellness struct {
	look func(ctx context.Context) []string

	mu      sync.Mutex
	list    []string
	at      time.Time     // of the list
	looking chan struct{} // closed when the look that runs has ended; nil = none runs
	closed  bool
	running sync.WaitGroup
}

// get returns what is not well, as of some seconds ago.
func (w *wellness) get() []string {
	if looking := w.refresh(); looking != nil {
		wait := time.NewTimer(wellWait)
		defer wait.Stop()
		select {
		case <-looking:
		case <-wait.C:
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.list
}

// refresh begins a look where the list is old, and returns the one that runs.
func (w *wellness) refresh() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.looking == nil && !w.closed && (w.at.IsZero() || time.Since(w.at) >= wellFor) {
		looking := make(chan struct{})
		w.looking = looking
		w.running.Go(func() {
			defer close(looking)
			ctx, cancel := context.WithTimeout(context.Background(), wellFor)
			defer cancel()
			list := w.look(ctx)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.list, w.at, w.looking = list, time.Now(), nil
		})
	}
	return w.looking
}

// close waits for the look that runs, and lets none follow.
func (w *wellness) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.running.Wait()
}

// unwell names what is not well besides what makes the node unready. It has no errors, which name addresses and users:
// anybody may ask for it.
func (a *App) unwell(ctx context.Context, rules []metrics.RuleState) []string {
	list := []string{}
	report := a.node(ctx)
	for i := range report.Health {
		if h := &report.Health[i]; !h.OK {
			list = append(list, strings.TrimSpace(h.Part+" "+h.Name))
		}
	}
	var late, failing, degraded int
	for i := range rules {
		r := &rules[i]
		switch {
		case r.Late:
			late++
		case r.Failed || r.State == "unverified":
			failing++
		case r.Degraded:
			degraded++
		}
	}
	for _, n := range []struct {
		count int
		how   string
	}{{late, "late"}, {failing, "failing"}, {degraded, "degraded"}} {
		if n.count > 0 {
			list = append(list, fmt.Sprintf("rules: %d %s", n.count, n.how))
		}
	}
	return list
}
