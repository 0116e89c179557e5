package why

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/ledger"
	"tallyman/rules"
)

// silences adds a reason for each silence that withholds the finding's notices.
func (g *gatherer) silences() {
	a := g.answer
	if a.Rule.Shadow && a.Promoted.IsZero() {
		return // Nothing silences a rule in shadow; see judge.Pass.
	}
	typ, warehouse := g.aboutWhat()
	if typ == "" {
		typ, warehouse = a.Rule.Notice.Type, a.Rule.Scope
	}
	holding := g.silencer.Holding(a.Asked, judge.Subject(a.Rule, typ, warehouse, g.noticeKey()))
	does := "withholds the notices"
	if a.Rule.Mode == rules.ModeEvent {
		does = "drops new rows"
	}
	for _, s := range holding {
		name := s.ID
		if s.Comment != "" {
			name += " (" + s.Comment + ")"
		}
		g.hold("silenced", Facts{Silences: []string{s.ID}, Reason: s.Comment, Until: s.Until, Event: a.Rule.Mode == rules.ModeEvent}, "silence %s %s until %s", name, does, stamp(s.Until))
	}
	if len(holding) > 0 {
		g.quiet = holding[0].Until
	} else if f := a.Finding; f != nil && f.Silenced != "" {
		g.hold("was_silenced", Facts{Silences: strings.Fields(f.Silenced)}, "%s withheld the notice of the last run; the next run sends it", silenceNames(f.Silenced))
	}
}

// aboutWhat returns the type and the warehouse of the finding's notices. Both are empty where neither the row nor an
// earlier notice has them.
func (g *gatherer) aboutWhat() (typ, warehouse string) {
	if l := g.answer.Look; l != nil && l.Type != "" {
		return l.Type, l.Warehouse
	}
	if len(g.answer.Notices) > 0 {
		return g.answer.Notices[0].Notice.Type, g.answer.Notices[0].Notice.Warehouse
	}
	return "", ""
}

// noticeKey returns the key of the finding's notices. For a rule with group_by that is the key of the group.
func (g *gatherer) noticeKey() string {
	switch a := g.answer; {
	case a.Finding != nil && a.Finding.Group != "":
		return a.Finding.Group
	case a.Look != nil && a.Look.Group != "":
		return a.Look.Group
	default:
		return a.Key
	}
}

func silenceNames(ids string) string {
	list := strings.Fields(ids)
	if len(list) == 1 {
		return "silence " + list[0]
	}
	return "the silences " + strings.Join(list, ", ")
}

// waiting reads the pending deliveries to push channels.
func (x *Explainer) waiting(ctx context.Context, a *Answer) error {
	for _, t := range a.Notices {
		pending := func(d ledger.DeliveryTrace) bool {
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

// pushes adds the reasons why deliveries to push channels are pending. Deliveries to one channel with the same reason
// share one entry.
func (g *gatherer) pushes() {
	type kind struct{ sink, code string }
	var order []kind
	first := map[kind]*Reason{}
	for i := range g.answer.Waiting {
		d := &g.answer.Waiting[i]
		reason := whyPending(d, g.answer.Asked)
		k := kind{d.Lane.Sink, reason.Code}
		if known := first[k]; known != nil {
			known.Facts.Count++
			continue
		}
		first[k] = &reason
		order = append(order, k)
	}
	for _, k := range order {
		text := first[k].Text
		if n := first[k].Facts.Count; n > 0 {
			text += fmt.Sprintf("; and %d more to %s", n, k.sink)
		}
		g.hold(k.code, first[k].Facts, "%s", text)
	}
}

func whyPending(d *ledger.DeliveryRecord, now time.Time) Reason {
	what, facts := "the delivery to "+d.Lane.Sink, Facts{Sink: d.Lane.Sink}
	switch {
	case d.Node != "":
		facts.Node = d.Node
		return Reason{"push_running", fmt.Sprintf("%s is being tried by %s", what, d.Node), facts}
	case d.Behind:
		return Reason{"push_behind", what + " waits until an earlier delivery of the finding has ended", facts}
	case d.HeldBy != "":
		facts.Silences, facts.At = []string{d.HeldBy}, d.Next
		return Reason{"push_silenced", fmt.Sprintf("%s is held back by silence %s; the node checks the delivery again at %s, or when somebody ends the silence", what, d.HeldBy, stamp(d.Next)), facts}
	case d.Attempts > 0:
		facts.Attempts, facts.Until, facts.Error = d.Attempts, d.Deadline, d.LastError
		again := "is tried again at " + stamp(d.Next)
		if facts.At = d.Next; !d.Next.After(now) {
			again, facts.At = "waits for its next attempt: the channel is busy, or pauses after failures", time.Time{}
		}
		text := fmt.Sprintf("%s has failed %s and %s", what, timesOf(d.Attempts), again)
		if !d.Deadline.IsZero() {
			text += ", until " + stamp(d.Deadline)
		}
		return Reason{"push_retry", text + ": " + d.LastError, facts}
	case d.Next.After(now):
		facts.At, facts.Unless = d.Next, string(d.Strategy.Unless)
		text := fmt.Sprintf("%s goes out at %s", what, stamp(d.Next))
		if d.Strategy.Unless != "" {
			text += fmt.Sprintf(" unless %s", unlessText[d.Strategy.Unless])
		}
		return Reason{"push_delayed", text, facts}
	default:
		return Reason{"push_due", what + " has not been tried yet: the channel is busy or pauses after failures, or no node runs the channel", facts}
	}
}

func timesOf(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
