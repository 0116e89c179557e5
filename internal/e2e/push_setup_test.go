package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// The push channels of these tests, one for each strategy that has something to promise.
const (
	important = "gateway"
	timed     = "courier"
	immediate = "herald"
)

const (
	pushTimeout = time.Second
	timedWithin = 4 * time.Second
)

// pushRules are worldRules, told to the channels, too.
func pushRules() string {
	bins := strings.Replace(worldRules, "deliver: [{sink: inbox}]", fmt.Sprintf("deliver: [{sink: inbox}, {sink: %s, strategy: important}]", important), 1)
	return strings.Replace(bins, "deliver: [{sink: inbox}]", fmt.Sprintf("deliver: [{sink: inbox}, {sink: %s, strategy: timed, within: %s}, {sink: %s}]",
		timed, timedWithin, immediate), 1)
}

// pushTrial is a trial with push channels and their receivers.
type pushTrial struct {
	*trial
	receivers map[string]*receiver
}

// newPushTrial makes one without nodes. way is how the nodes get to an address: itself, or a proxy in front of it.
func newPushTrial(t *testing.T, way func(address string) string) *pushTrial {
	t.Helper()
	p := &pushTrial{receivers: map[string]*receiver{}}
	c := newCluster(t, killLease, pushRules())
	var sinks strings.Builder
	for i, name := range []string{important, timed, immediate} {
		faults := 30
		if name == timed {
			faults = 75 // so that many are out of time
		}
		r := newReceiver(t, uint64(i)+5, faults)
		p.receivers[name] = r
		fmt.Fprintf(&sinks, "  %s: {type: webhook, url: \"http://%s/%s\", allow_private: true, timeout: %s, concurrency: 4, breaker: {failures: 5, open: 1s}}\n",
			name, way(r.Listener.Addr().String()), name, pushTimeout)
	}
	c.configure(fmt.Sprintf("%q", c.ledgerURL), fmt.Sprintf("%q", throughWay(c.ledgerURL, way)), c.redis.Addr, way(c.redis.Addr))
	c.sinks(sinks.String())
	p.trial = trialOf(c)
	return p
}

func straight(address string) string { return address }

// throughWay replaces the address in a URL of a database.
func throughWay(url string, way func(string) string) string {
	_, rest, _ := strings.Cut(url, "@")
	address, _, _ := strings.Cut(rest, "/")
	return strings.Replace(url, address, way(address), 1)
}

// leaseEnds is that the time has passed for which a dead node had claimed deliveries.
func (p *pushTrial) leaseEnds(dead *node) {
	p.t.Helper()
	if _, err := p.connect().Exec(p.t.Context(), `UPDATE pushes SET until = 0 WHERE node = $1 AND due IS NOT NULL`, dead.name); err != nil {
		p.t.Fatal(err)
	}
}

// finish lets everything settle with receivers that take what comes, stops the nodes, and holds all against each other.
func (p *pushTrial) finish(nodes []*node) {
	p.t.Helper()
	for _, r := range p.receivers {
		r.calm()
	}
	p.end()
	var counts map[string]map[ledger.DeliveryState]int64
	testenv.Eventually(p.t, func() bool {
		var err error
		counts, err = p.ledger.CountDeliveries(p.t.Context())
		return err == nil && counts[important][ledger.DeliveryPending]+counts[timed][ledger.DeliveryPending]+counts[immediate][ledger.DeliveryPending] == 0
	}, 60*time.Second)
	for _, n := range nodes {
		n.stop()
	}
	p.verify(p.ledger, p.clients, false)
	for _, name := range slices.Sorted(maps.Keys(p.receivers)) {
		r := p.receivers[name]
		calls, failed := r.seen()
		p.t.Logf("%s: %d calls, %d failed; %v", name, len(calls), failed, counts[name])
		p.verifyPushes(name, r)
	}
	p.verifyKnown(p.receivers[important])
}
