package e2e

import (
	"time"

	"tallyman/internal/ledger"
)

// clockSlack is how much later than it was made a call may be noted, on a machine that does much at once.
const clockSlack = time.Second

// verifyPushes holds what a receiver was called with against the ledger.
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
// after the ledger had it as sent, nor after the deadline of a timed one but for the attempt that had begun by then, and that those
// of a finding came in their order. It returns how often each notice was taken.
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
