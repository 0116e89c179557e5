package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
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

// clockSlack is how much later than it was made a call may be noted, on a machine that does much at once.
const clockSlack = time.Second

// verifyPushes compares the calls of a receiver with the ledger.
func (p *pushTrial) verifyPushes(name string, r *receiver) {
	t := p.t
	t.Helper()
	byNotice := map[string]ledger.DeliveryRecord{}
	list, err := p.ledger.ListDeliveries(t.Context(), ledger.DeliveryFilter{Sink: name, Limit: 100_000})
	if err != nil || len(list) == 0 {
		t.Fatalf("%s: %d deliveries, %v", name, len(list), err)
	}
	for _, d := range list {
		byNotice[d.Notice] = d
	}
	taken := r.verifyCalls(name, byNotice)
	for _, d := range list {
		switch {
		case d.State == ledger.DeliverySent && taken[d.Notice] == 0:
			t.Errorf("%s: delivery %d is sent by the ledger, and nobody has taken it", name, d.Seq)
		case d.State == ledger.DeliverySent:
		case name == important && d.State == ledger.DeliveryCanceled && d.LastError == "the finding is over":
		case name == timed && d.State == ledger.DeliveryTimedOut:
		case name == immediate && d.State == ledger.DeliveryFailed && d.Attempts == 1:
		default:
			t.Errorf("%s: delivery %d is %s after %d attempts: %s", name, d.Seq, d.State, d.Attempts, d.LastError)
		}
	}
}

// verifyCalls proves that each call was one that the ledger knows of, that what came again was the same, that none came
// after the ledger had it as sent, nor after the deadline of a timed one but for the attempt that had begun by then,
// and that those of a finding came in their order. It returns how often each notice was taken.
func (r *receiver) verifyCalls(name string, known map[string]ledger.DeliveryRecord) map[string]int {
	t := r.t
	t.Helper()
	calls, _ := r.seen()
	taken, bodies, last := map[string]int{}, map[string]string{}, map[string]int64{}
	for _, c := range calls {
		d, ok := known[c.ID]
		finding := c.Rule + c.Key
		switch body, again := bodies[c.ID]; {
		case !ok:
			t.Errorf("%s: a call with %s, which the ledger does not know", name, c.ID)
		case again && body != c.body:
			t.Errorf("%s: %s came as\n%s\nand as\n%s", name, c.ID, body, c.body)
		case d.State == ledger.DeliverySent && c.at.After(d.SentAt.Add(clockSlack)):
			t.Errorf("%s: delivery %d came again %s after it was recorded as sent", name, d.Seq, c.at.Sub(d.SentAt))
		case !d.Deadline.IsZero() && c.at.After(d.Deadline.Add(pushTimeout+clockSlack)):
			t.Errorf("%s: delivery %d was tried %s after its deadline", name, d.Seq, c.at.Sub(d.Deadline))
		case d.Seq < last[finding]:
			t.Errorf("%s: delivery %d of %s came after %d", name, d.Seq, finding, last[finding])
		}
		bodies[c.ID], last[finding] = c.body, d.Seq
		if c.taken {
			taken[c.ID]++
		}
	}
	return taken
}

// verifyKnown proves that who was told of a fault was told that it is over, and only then: the last word on each bin is
// what is so.
func (p *pushTrial) verifyKnown(r *receiver) {
	p.t.Helper()
	word := map[string]string{}
	calls, _ := r.seen()
	for _, c := range calls {
		if c.taken {
			word[c.Key] = c.Status
		}
	}
	for _, bins := range p.world.bad {
		for key, bad := range bins {
			if got := word[key]; bad && got != "firing" || !bad && got == "firing" {
				p.t.Errorf("bin %s is below zero: %v; the last that the receiver took is %q", key, bad, got)
			}
		}
	}
}

// call is an attempt of a push channel as the receiver of a webhook saw it.
type call struct {
	heard

	Type  string `json:"type"`
	at    time.Time
	body  string
	taken bool // the receiver has it, whether it could say so or not
}

// receiver is the server of a webhook. Until calm it takes, fails, resets, hangs and loses answers at random. faults is
// how many of a hundred calls go wrong.
type receiver struct {
	*testenv.HTTPServer

	t      *testing.T
	faults int
	mu     sync.Mutex
	random *rand.Rand
	calls  []call
	failed int
}

// calmReceiver is a receiver that takes everything.
func calmReceiver(t *testing.T) *receiver {
	t.Helper()
	r := newReceiver(t, 1, 1)
	r.calm()
	return r
}

// webhook is the line of the configuration for a sink that calls the receiver.
func webhook(name string, r *receiver) string {
	return fmt.Sprintf("  %s: {type: webhook, url: %q, allow_private: true}\n", name, r.URL)
}

func newReceiver(t *testing.T, seed uint64, faults int) *receiver {
	t.Helper()
	r := &receiver{HTTPServer: testenv.NewHTTPServer(t), t: t, faults: faults, random: rand.New(rand.NewPCG(seed, seed))}
	r.Always(r.moody)
	return r
}

// calm makes the receiver take everything from now on.
func (r *receiver) calm() {
	r.Always(func(w http.ResponseWriter, asked testenv.HTTPRequest, gone <-chan struct{}) {
		r.note(asked, true)
		testenv.ReplyStatus(http.StatusNoContent, "")(w, asked, gone)
	})
}

func (r *receiver) moody(w http.ResponseWriter, asked testenv.HTTPRequest, gone <-chan struct{}) {
	r.mu.Lock()
	mood := r.random.IntN(3000) / r.faults // below 30: a fault
	r.mu.Unlock()
	reply, taken := testenv.ReplyStatus(http.StatusNoContent, ""), true
	switch {
	case mood < 10:
		reply = testenv.ReplyReset // after it was taken
	case mood < 15:
		reply, taken = testenv.ReplyReset, false
	case mood < 26:
		reply, taken = testenv.ReplyStatus(http.StatusInternalServerError, "out of order"), false
	case mood < 28:
		reply, taken = testenv.ReplyStatus(http.StatusTooManyRequests, "", "Retry-After", "1"), false
	case mood < 30:
		reply, taken = testenv.ReplyHang, false
	}
	r.note(asked, taken)
	reply(w, asked, gone)
}

func (r *receiver) note(asked testenv.HTTPRequest, taken bool) {
	c := call{at: asked.At, body: string(asked.Body), taken: taken}
	if err := json.Unmarshal(asked.Body, &c); err != nil {
		r.t.Errorf("a call that is no notice: %q", asked.Body)
	}
	if key := asked.Header.Get("Idempotency-Key"); key != c.ID || key == "" {
		r.t.Errorf("notice %s came under the key %q", c.ID, key)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
	if !taken {
		r.failed++
	}
}

// seen returns the calls so far, and how many of them failed.
func (r *receiver) seen() (calls []call, failed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls), r.failed
}

// repeats counts the calls with what had been taken before.
func repeats(calls []call) int {
	n, taken := 0, map[string]bool{}
	for _, c := range calls {
		if taken[c.ID] {
			n++
		}
		taken[c.ID] = taken[c.ID] || c.taken
	}
	return n
}
