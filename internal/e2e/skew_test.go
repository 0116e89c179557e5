package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

const (
	smsDelay      = 3 * time.Second
	courierWithin = 20 * time.Second
	clockSkew     = 2 * time.Second
	// clockGrain is how exactly a node knows the time, on a machine that does much at once.
	clockGrain = 300 * time.Millisecond
)

// skewRules are the rules of ticks, told at once, in time, and later; one that finds its own firings if they come
// before their time by the source's clock; and one to be switched off for a while.
var skewRules = worldRules + tickRules(fmt.Sprintf("{sink: courier, strategy: timed, within: %s}, {sink: sms, strategy: delayed, delay: %s}",
	courierWithin, smsDelay)) + `
  - id: early-firing
    scopes: [{name: a}, {name: b}]
    probe: {sql: "SELECT 1 AS n, extract(epoch FROM :scheduled_at - clock_timestamp()) AS early"}
    when: early > 0.3
    key: [n]
    notice: {type: REP_NOTICE, warehouse: "'119240'", title: "{{ .early }} s early"}
    deliver: [{sink: inbox}]
  - id: switched-off
    probe: {sql: "SELECT 1 AS n"}
    when: "false"
    key: [n]
    notice: {type: REP_NOTICE, warehouse: "'119240'", title: "no"}
    deliver: [{sink: inbox}]
`

// Three nodes whose clocks are 2 s ahead, right, and 2 s behind do as well as others: one that joins, and one whose
// clock is set back by an hour while it runs, too.
func TestSkewedClocks(t *testing.T) {
	t.Parallel()
	c := newCluster(t, longLease, skewRules)
	c.shelf()
	sms, courier := calmReceiver(t), calmReceiver(t)
	c.sinks(webhook("sms", sms) + webhook("courier", courier))
	tr := trialOf(c)
	ahead := func() *node { return tr.start(0, childAhead+"="+clockSkew.String()) }
	first, right, behind := ahead(), tr.start(1), tr.start(2, childAhead+"=-"+clockSkew.String())
	testenv.Eventually(t, func() bool { return tr.heard() > 0 }, 30*time.Second)

	began := time.Now()
	silenced := tr.silence(first, shelves(1)[0])
	off := tr.switchOff(behind)
	put := map[string]time.Time{}
	for i := range 4 * tickScopes {
		bin := fmt.Sprintf("B-%d", i)
		put[bin] = tr.put(shelves(tickScopes)[i%tickScopes], bin)
		pause(100 * time.Millisecond)
	}
	first.stop()
	pause(clockSkew + time.Second) // until others have done what it did before its time, if it did
	first = ahead()
	behind.signal(syscall.SIGUSR1)
	tr.awaitFirings(tr.ledger, tickScopes, time.Now().Add(time.Second), everyRule, latestRule)
	tr.awaitFirings(tr.ledger, 1, off.until, "switched-off")
	testenv.Eventually(t, func() bool {
		counts, err := tr.ledger.CountDeliveries(t.Context())
		return err == nil && counts["sms"][ledger.DeliverySent] == int64(2*len(put)) && counts["courier"][ledger.DeliverySent] == int64(2*len(put))
	}, 30*time.Second)
	tr.finish([]*node{first, right, behind}, false)

	tr.verifyTicks(tr.ledger, began)
	early := slices.DeleteFunc(tr.firings(tr.ledger, "early-firing").runs, func(run ledger.Run) bool { return run.Matched == 0 })
	if len(early) > 0 {
		t.Errorf("the source was looked at before the time %d times, as in %+v", len(early), early[0])
	}
	off.verify(tr.firings(tr.ledger, "switched-off"))
	for name, r := range map[string]*receiver{"sms": sms, "courier": courier} {
		tr.verifyTimes(name, r, put, silenced)
	}
}

// span is a while in which something was silenced or switched off, by the true time.
type span struct{ from, until time.Time }

// silence silences the rules of ticks in one scope for a while, on whichever node. It returns when that counts on every
// node.
func (tr *trial) silence(n *node, scope string) span {
	tr.t.Helper()
	const lasts = 4 * time.Second
	var answer wire.SilenceForm
	began := time.Now()
	if code := n.call(http.MethodPost, "/silences", fmt.Sprintf(`{"matchers":["scope=%s"],"for":"%s","comment":"skew"}`, scope, lasts), &answer); code != http.StatusCreated {
		tr.t.Fatalf("the silence is answered %d", code)
	}
	s := span{began.Add(inForce), began.Add(lasts)}
	if answer.Until == nil || answer.Until.Sub(s.until).Abs() > 2*clockGrain+time.Since(began) {
		tr.t.Errorf("a silence until %v ends at %v", s.until, answer.Until)
	}
	pause(inForce)
	return s
}

// inForce is the longest time until every node knows of a change.
const inForce = time.Second

// switchOff disables a rule for a while.
func (tr *trial) switchOff(n *node) span {
	tr.t.Helper()
	const lasts = 3 * time.Second
	began := time.Now()
	var answer wire.SwitchedForm
	if code := n.call(http.MethodPost, "/rules/switched-off/disable", fmt.Sprintf(`{"for":"%s"}`, lasts), &answer); code != http.StatusOK {
		tr.t.Fatalf("the switch is answered %d", code)
	}
	return span{time.Now().Add(inForce), began.Add(lasts)}
}

// verify checks that no firing ran meanwhile, and that the skipped firings are those due then.
func (s span) verify(f *firings) {
	f.t.Helper()
	for _, run := range f.runs {
		if run.Outcome == ledger.OutcomeOK && run.Due.After(s.from) && run.Due.Before(s.until.Add(-clockGrain)) {
			f.t.Errorf("a rule that is off ran: %+v", run)
		}
		if run.Outcome == ledger.OutcomeSkipped && strings.HasPrefix(run.Error, "disabled") && run.Due.After(s.until.Add(clockGrain+inForce)) {
			f.t.Errorf("a rule that is on was left out: %+v", run)
		}
	}
}

// verifyTimes proves that what was put onto the shelves was told by the true time: at once or after the delay, and what
// was silenced, after the silence.
func (tr *trial) verifyTimes(name string, r *receiver, put map[string]time.Time, silenced span) {
	t := tr.t
	t.Helper()
	list, err := tr.ledger.ListDeliveries(t.Context(), ledger.DeliveryFilter{Sink: name, Limit: 10_000})
	if err != nil || len(list) != 2*len(put) {
		t.Fatalf("%s: %d deliveries of %d bins: %v", name, len(list), len(put), err)
	}
	called := map[string]time.Time{}
	calls, _ := r.seen()
	for _, one := range calls {
		if !called[one.ID].IsZero() {
			t.Errorf("%s was told of %s twice", name, one.Key)
		}
		called[one.ID] = one.at
	}
	delay := time.Duration(0)
	if name == "sms" {
		delay = smsDelay
	}
	held := 0
	for _, d := range list {
		from := put[d.Title]
		if d.Where == shelves(1)[0] && from.Before(silenced.until) {
			from = silenced.until
			held++
		}
		at := called[d.Notice]
		if d.Created.Before(from.Add(-clockGrain)) || at.Before(d.Created.Add(delay-clockGrain)) {
			t.Errorf("%s: %s was there to be told at %v, the notice was made at %v and told at %v", name, d.Title, from, d.Created, at)
		}
		if name == "courier" && !d.Deadline.Equal(d.Created.Add(courierWithin)) {
			t.Errorf("%s: %s was made at %v, its deadline is %v", name, d.Title, d.Created, d.Deadline)
		}
	}
	if held == 0 {
		t.Errorf("%s: nothing was held back by a silence: the test does not test", name)
	}
}
