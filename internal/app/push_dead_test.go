package app_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/sinks"
)

const (
	dueDeliveries = 10_000
	callsAtATime  = 64
)

// A webhook that hangs, with 64 calls under way and thousands of deliveries waiting for it, does not slow the inbox: from the commit to the poll
// takes as long as without it.
func TestDeadWebhookDoesNotSlowTheInbox(t *testing.T) {
	t.Parallel()
	s, gateway := newSite(t), testenv.NewHTTPServer(t)
	gateway.Always(testenv.ReplyHang)
	s.grace = 100 * time.Millisecond
	s.realServers()
	sink := s.webhook("gateway", gateway.URL)
	sink.Concurrency, sink.Timeout = callsAtATime, time.Minute
	sink.Breaker = sinks.Breaker{Failures: 1000, Open: time.Second}
	n := s.start("one")
	n.await(url.Values{"wait": {"0s"}}, 0)

	const samples = 60
	before := n.inboxTimes("before", samples)
	for i := range dueDeliveries / 1000 {
		n.submit(fmt.Sprintf("waiting-%d", i), 1000, `"deliver":[{"sink":"gateway","strategy":"important"}]`)
	}
	testenv.Eventually(t, func() bool { return gateway.Asked() == callsAtATime }, 20*time.Second)
	with := n.inboxTimes("with", samples)
	if asked := gateway.Asked(); asked != callsAtATime {
		t.Errorf("%d calls, want those that hang", asked)
	}
	if waiting := n.deliveries("gateway", "pending"); waiting != dueDeliveries {
		t.Errorf("%d deliveries wait", waiting)
	}
	t.Logf("from the commit to the poll: %s without, %s with a dead webhook (medians)", before[samples/2], with[samples/2])
	// Who waits for the webhook waits for a minute. The rest is what a machine that does much else may take.
	if with[samples/2] > 3*before[samples/2]+100*time.Millisecond || with[samples*9/10] > 3*before[samples*9/10]+time.Second {
		t.Errorf("the inbox was slowed: without %v, with %v", before, with)
	}
}

// submit has a business system send so many notices, and returns when they are committed.
func (n *node) submit(key string, count int, more string) {
	n.t.Helper()
	one := fmt.Sprintf(`{"type":"REP_NOTICE","warehouse":"119240","title":%q,"body":"b",%s}`, key, more)
	body := `{"notices":[` + strings.TrimSuffix(strings.Repeat(one+",", count), ",") + `]}`
	if code, answer := n.do(http.MethodPost, "/api/v1/notices", "application/json", body, "Idempotency-Key", key); code != http.StatusCreated {
		n.t.Fatalf("sending answers %d: %.500s", code, answer)
	}
}

// inboxTimes sends notices to the inbox one by one, and returns how long each took from its commit to a poll that waited, sorted.
func (n *node) inboxTimes(name string, count int) []time.Duration {
	n.t.Helper()
	_, p := n.poll(nil)
	cursor := p.Cursor
	var list []time.Duration
	for i := range count {
		got := make(chan time.Time)
		after := cursor
		go func() {
			_, p := n.poll(url.Values{"after": {after}, "wait": {"20s"}})
			cursor = p.Cursor
			got <- time.Now()
		}()
		n.submit(fmt.Sprintf("%s-%d", name, i), 1, `"deliver":[{"sink":"inbox"}]`)
		committed := time.Now()
		list = append(list, (<-got).Sub(committed))
	}
	slices.Sort(list)
	return list
}
