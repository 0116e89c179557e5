package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
	"tallyman/sinks/push"
)

var pushSteps = []string{
	push.StepClaimed, push.StepTrying, push.StepAnswered, push.StepSettling, push.StepSettled,
}

// A node that dies in any step of a firing or of a delivery to a push channel loses nothing, alone or with another
// node. Every important delivery arrives, a repeated call has the same key, and a late one is not made.
func TestPushesWithNodesKilledInEachStep(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for _, nodes := range []int{1, 2} {
		t.Run(fmt.Sprintf("of %d nodes", nodes), func(t *testing.T) {
			t.Parallel()
			p := newPushTrial(t, straight)
			var others []*node
			for place := 1; place < nodes; place++ {
				others = append(others, p.start(place))
			}
			for _, step := range slices.Concat(pushSteps, steps) {
				dies(t, func() *node { return p.start(0, childDies+"="+step+"*3") }) // so that there is something under way by then
			}
			p.finish(append(others, p.start(0)))
			p.tested()
		})
	}
}

// Nodes that die at random moments lose nothing.
func TestPushesWithNodesKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	p := newPushTrial(t, straight)
	nodes := []*node{p.start(0), p.start(1)}
	testenv.Eventually(t, func() bool { return p.heard() > 0 }, 30*time.Second)
	random := rand.New(rand.NewPCG(3, 11))
	end := time.Now().Add(testenv.SoakFor(t, 0))
	for kill := 0; kill < kills || time.Now().Before(end); kill++ {
		pause(time.Duration(random.Int64N(int64(1500 * time.Millisecond))))
		place := random.IntN(len(nodes))
		dead := nodes[place]
		dead.kill()
		pause(time.Duration(random.Int64N(int64(300 * time.Millisecond))))
		nodes[place] = p.start(place)
	}
	p.finish(nodes)
	p.tested()
}

// tested checks that calls really failed, and were repeated after they had been taken.
func (p *pushTrial) tested() {
	p.t.Helper()
	failed, again := 0, 0
	for _, r := range p.receivers {
		calls, n := r.seen()
		failed, again = failed+n, again+repeats(calls)
	}
	if failed == 0 || again == 0 {
		p.t.Errorf("%d calls failed, %d came again: the test does not test", failed, again)
	}
}

// With any fault of the network between a node and the ledger, Redis and the webhooks, every important delivery
// arrives, in order and with its key, and a late one is not made.
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

// escalationRule delivers to a channel what nobody has read after some seconds.
const escalationRule = `
version: 1
rules:
  - id: empty-bin
    source: wms
    schedule: {cron: "* * * * * *"}
    probe: {sql: "SELECT wh_id, bin_code, qty FROM bin_stock WHERE qty < 0"}
    key: [wh_id, bin_code]
    notice: {type: REP_NOTICE, warehouse: wh_id, title: "Bin {{ .bin_code }} is empty", fields: {bin: bin_code}, send_resolved: true}
    deliver:
      - {sink: inbox}
      - {sink: sms, strategy: delayed, delay: 10s, unless: read}
      - {sink: pager, strategy: delayed, delay: 10s, unless: resolved, when: qty < -10}
`

// A notice that somebody has read, or whose finding is over, goes to nobody else. The rest goes out at its time.
// Another node than the one that made the notices sends them.
func TestEscalation(t *testing.T) {
	t.Parallel()
	c := newCluster(t, killLease, escalationRule)
	sms, pager := calmReceiver(t), calmReceiver(t)
	c.sinks(webhook("sms", sms) + webhook("pager", pager))
	l := c.openLedger()
	n := c.start(0)
	c.bins("read", -1, 1, 1)
	c.bins("over", -20, 1, 1)
	c.bins("urgent", -20, 1, 1)
	byBin := map[string]ledger.DeliveryRecord{}
	testenv.Eventually(t, func() bool {
		list, err := l.ListDeliveries(t.Context(), ledger.DeliveryFilter{Sink: "sms", Limit: 10})
		for _, d := range list {
			byBin[d.Title] = d
		}
		return err == nil && len(list) == 3
	}, 20*time.Second)

	read := byBin["Bin read-1 is empty"].Notice
	query := url.Values{"warehouse": {"119240"}, "subscriber": {"role:keeper", "user:7"}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.base+"/api/v1/notices/"+read+"/read?"+query.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() bool {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(req)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusNoContent
	}, 8*time.Second)
	c.exec(t.Context(), `UPDATE bin_stock SET qty = 1 WHERE bin_code = 'over-1'`)
	testenv.Eventually(t, func() bool {
		list, err := l.ListDeliveries(t.Context(), ledger.DeliveryFilter{Sink: "pager", States: []ledger.DeliveryState{ledger.DeliveryCanceled}, Limit: 10})
		return err == nil && len(list) == 1
	}, 8*time.Second)
	n.stop()
	other := c.start(0)

	testenv.Eventually(t, func() bool {
		counts, err := l.CountDeliveries(t.Context())
		return err == nil && counts["sms"][ledger.DeliveryPending]+counts["pager"][ledger.DeliveryPending] == 0
	}, 20*time.Second)
	for name, r := range map[string]*receiver{"sms": sms, "pager": pager} {
		got, _ := r.seen()
		if len(got) != 1 || got[0].Key != `[119240,"urgent-1"]` {
			t.Errorf("%s was told of %+v", name, got)
			continue
		}
		due := byBin["Bin urgent-1 is empty"].Created.Add(10 * time.Second)
		if late := got[0].at.Sub(due); late < 0 || late > time.Second+clockSlack {
			t.Errorf("%s was told %s after the time", name, late)
		}
	}
	other.stop()
}
