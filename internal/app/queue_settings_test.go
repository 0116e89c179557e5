package app_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// Two nodes on one PostgreSQL and one Redis: what an operator sets on one is in force there at once and on the other
// soon, outlives restarts, and goes back.
func TestQueueSettingsAreInForceOnEveryNode(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.realServers()
	s.queue()
	one, two := s.start("one"), s.start("two")
	settings := func(n *node) (form wire.QueueSettingsForm) {
		t.Helper()
		if code, text := n.get("/queues/"+workQueue+"/settings", &form); code != http.StatusOK {
			t.Fatalf("%d %s", code, text)
		}
		return form
	}
	has := func(n *node, lease string, most int, live ...string) bool {
		f := settings(n)
		return f.InForce.Lease == lease && f.InForce.MaxAttempts == most && slices.Equal(f.Live, live)
	}
	configured := settings(one).Configured
	if f := settings(two); len(f.Live) != 0 || f.InForce.Lease != configured.Lease {
		t.Fatalf("%+v", f)
	}
	for _, c := range []struct {
		by   *node
		body string
		has  func(*node) bool
	}{
		{one, `{"lease":"7m","maxAttempts":0}`, func(n *node) bool { return has(n, "7m", 0, "lease", "maxAttempts") }},
		{two, `{"lease":"9m"}`, func(n *node) bool { return has(n, "9m", 0, "lease", "maxAttempts") }},
		{one, `{"reset":["maxAttempts"]}`, func(n *node) bool { return has(n, "9m", configured.MaxAttempts, "lease") }},
	} {
		if code := c.by.post("/queues/"+workQueue+"/settings", c.body, nil); code != http.StatusOK {
			t.Fatalf("%s: %d", c.body, code)
		}
		began := time.Now()
		if !c.has(c.by) {
			t.Errorf("%s is not in force on the node that was asked", c.body)
		}
		for _, n := range []*node{one, two} {
			testenv.Eventually(t, func() bool { return c.has(n) }, 20*time.Second)
		}
		t.Logf("%s: in force on both nodes after %v", c.body, time.Since(began))
	}
	two.stop()
	two = s.start("two")
	if !has(two, "9m", configured.MaxAttempts, "lease") {
		t.Errorf("after a restart: %+v", settings(two))
	}
	two.post("/queues/"+workQueue+"/items", `{"items":[{"id":"a","payload":1}]}`, nil)
	var leased wire.SteppedForm
	if code := two.post("/queues/"+workQueue+"/lease", `{"worker":"w"}`, &leased); code != http.StatusOK || len(leased.Items) != 1 {
		t.Fatalf("%d %+v", code, leased)
	}
	if left := time.Until(leased.Items[0].LeaseUntil); left < 8*time.Minute || left > 9*time.Minute {
		t.Errorf("the lease lasts %v", left)
	}
}
