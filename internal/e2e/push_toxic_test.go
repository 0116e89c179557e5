package e2e

import (
	"maps"
	"slices"
	"testing"
	"time"

	"tallyman/internal/testenv"
)

// Whatever the network between a node and the ledger, Redis and the webhooks does, what must arrive arrives, in order and under its
// key, and what is late stops.
func TestPushesOverBadNetworks(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	ways := map[string]*testenv.Toxic{}
	p := newPushTrial(t, func(address string) string {
		if ways[address] == nil {
			ways[address] = testenv.NewToxic(t, address)
		}
		return ways[address].Addr
	})
	p.badNetwork = true
	nodes := []*node{p.start(0), p.start(1)}
	testenv.Eventually(t, func() bool { return p.heard() > 0 }, 30*time.Second)
	for _, address := range slices.Sorted(maps.Keys(ways)) {
		toxic := ways[address]
		for _, fault := range []func(){
			func() { toxic.Latency(50*time.Millisecond, 20*time.Millisecond) },
			toxic.Silence,
			toxic.Reset,
			func() { toxic.Limit(2000) },
		} {
			fault()
			pause(700 * time.Millisecond)
			toxic.Heal()
			pause(300 * time.Millisecond)
		}
	}
	p.finish(nodes)
	p.tested()
}
