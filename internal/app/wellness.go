package app

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"tallyman/internal/api/metrics"
)

// A load balancer waits a second or two for /readyz, so a source that hangs must not delay the answer.
const (
	wellFor  = 5 * time.Second        // The largest age of the list.
	wellWait = 300 * time.Millisecond // How long a caller waits for a newer list.
)

// wellness caches the list of parts that are not well on a node that is ready. wellness looks in the background.
type wellness struct {
	look func(ctx context.Context) []string

	mu      sync.Mutex
	list    []string
	at      time.Time     // When the list was made.
	looking chan struct{} // Closed when the current look has ended. Nil means no look is running.
	closed  bool
	running sync.WaitGroup
}

// get returns the parts that are not well, as of a few seconds ago.
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

// refresh begins a look where the list is old. refresh returns the channel of the current look, or nil.
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

// close waits for the current look to end. No other look begins afterwards.
func (w *wellness) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.running.Wait()
}

// unwell names the parts that are not well without making the node unready. unwell leaves out the texts of errors,
// because these may name addresses and users, and /readyz needs no token.
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
