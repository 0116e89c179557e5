package why

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/rules"
)

// mostWaiting is how many pending deliveries of one notice are looked at.
const mostWaiting = 1000

// waiting reads how the pending deliveries to push channels stand.
func (x *Explainer) waiting(ctx context.Context, a *Answer) error {
	for _, t := range a.Notices {
		pending := func(d ledger.TracedDelivery) bool {
			return d.State == ledger.DeliveryPending && x.channels[d.Lane.Sink].Push
		}
		if !slices.ContainsFunc(t.Deliveries, pending) {
			continue
		}
		list, err := x.ledger.ListDeliveries(ctx, ledger.DeliveryFilter{
			Notice: t.Notice.ID, States: []ledger.DeliveryState{ledger.DeliveryPending}, Limit: mostWaiting,
		})
		if err != nil {
			return fmt.Errorf("engine: reading the deliveries of %s: %w", t.Notice.ID, err)
		}
		for i := range list {
			if list[i].Strategy != nil {
				a.Waiting = append(a.Waiting, list[i])
			}
		}
	}
	slices.SortFunc(a.Waiting, func(a, b ledger.DeliveryRecord) int { return cmp.Compare(a.Seq, b.Seq) })
	return nil
}

// pushes says why deliveries to push channels have not gone out; of many to one channel for one reason the first.
func (g *gatherer) pushes() {
	type reason struct{ sink, code string }
	var order []reason
	first, more := map[reason]string{}, map[reason]int{}
	for i := range g.answer.Waiting {
		d := &g.answer.Waiting[i]
		code, text := whyPending(d, g.answer.Asked)
		r := reason{d.Lane.Sink, code}
		if _, ok := first[r]; ok {
			more[r]++
			continue
		}
		first[r] = text
		order = append(order, r)
	}
	for _, r := range order {
		text := first[r]
		if n := more[r]; n > 0 {
			text += fmt.Sprintf("; and %d more to %s", n, r.sink)
		}
		g.hold(r.code, "%s", text)
	}
}

func whyPending(d *ledger.DeliveryRecord, now time.Time) (code, text string) {
	what := "the delivery to " + d.Lane.Sink
	switch {
	case d.Node != "":
		return "push_running", fmt.Sprintf("%s is being tried by %s", what, d.Node)
	case d.Behind:
		return "push_behind", what + " waits until the one of the finding before it has ended"
	case d.HeldBy != "":
		return "push_silenced", fmt.Sprintf("%s is held back by silence %s; it is looked at again at %s, or when somebody ends that", what, d.HeldBy, stamp(d.Next))
	case d.Attempts > 0:
		again := "is tried again at " + stamp(d.Next)
		if !d.Next.After(now) {
			again = "is to be tried again: the channel is busy, or held back after failures"
		}
		text = fmt.Sprintf("%s has failed %s and %s", what, timesOf(d.Attempts), again)
		if !d.Deadline.IsZero() {
			text += ", until " + stamp(d.Deadline)
		}
		return "push_retry", text + ": " + d.LastError
	case d.Next.After(now):
		text = fmt.Sprintf("%s goes out at %s", what, stamp(d.Next))
		if d.Strategy.Unless != "" {
			text += fmt.Sprintf(" unless %s", unlessText[d.Strategy.Unless])
		}
		return "push_delayed", text
	default:
		return "push_due", what + " has not been tried yet: the channel is busy, held back after failures, or no node runs it"
	}
}

var unlessText = map[delivery.Unless]string{
	delivery.UnlessRead: "somebody reads the notice", delivery.UnlessAcked: "somebody acks the notice", delivery.UnlessResolved: "the finding is over by then",
}

func timesOf(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// goesTo says where a draft goes, an entry of deliver each.
func goesTo(r *rules.Rule, d *rules.NoticeDraft) []string {
	list := make([]string, len(d.Deliver))
	for i, a := range d.Deliver {
		entry := r.Deliver[a.Entry]
		entry.When = ""
		switch {
		case entry.At == "":
		case a.At.IsZero():
			entry.At = "once"
		default:
			entry.At = a.At.UTC().Format(time.DateTime + "Z")
		}
		list[i] = entry.String()
	}
	return list
}
