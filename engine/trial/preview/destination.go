package preview

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules/strictyaml"
)

// destinations are the sinks that get the notice, an inbox with its recipients as a commit would look them up.
func (v *view) destinations(ctx context.Context, n *ledger.NewNotice) ([]Destination, error) {
	to := []Destination{}
	if v.report.Shadow {
		name, typ := v.req.inbox()
		return append(to, Destination{
			Sink: name, Type: typ, Recipients: []string{judge.ShadowSubscriber(n.Notice.Rule)},
			Note: "the rule is in shadow: nobody else hears of it",
		}), nil
	}
	for _, t := range n.Sinks {
		if t.Recipients != nil {
			continue // a resolution may go to the shadow inbox, too
		}
		dest, err := v.destination(ctx, n.Notice, t)
		if err != nil {
			return nil, err
		}
		to = append(to, dest)
	}
	return to, nil
}

func (v *view) destination(ctx context.Context, n *notice.Notice, t ledger.Target) (Destination, error) {
	sink := v.req.Sinks[t.Sink]
	dest := Destination{Sink: t.Sink, Type: sink.Type}
	resolved, isQueue := n.Status == notice.Resolved, !sink.Inbox && !sink.Push
	if sink.Push && t.Strategy != nil {
		dest.Strategy, dest.How = string(t.Strategy.Kind), v.how(t.Strategy)
	}
	switch {
	case resolved && isQueue:
		dest.Note = "takes back the item, unless a worker has it"
	case isQueue:
		dest.Note = "an item of work, unless the queue still has one of the same finding"
	case resolved:
		dest.Note = "as far as the notice that it takes back went there"
	case sink.Inbox || sink.Each:
		subs, err := v.subscriptions(ctx, n.Type)
		if err != nil {
			return dest, err
		}
		switch dest.Recipients = recipients(subs, n.Warehouse); {
		case len(dest.Recipients) == 0:
			dest.Note = "nobody is subscribed"
		case sink.Each:
			dest.Note = "as far as they have an address"
		}
	}
	return dest, nil
}

// how says in words how a push channel is tried; "" is once, at once.
func (v *view) how(s *delivery.Strategy) string {
	text := ""
	switch {
	case s.Kind == delivery.Important:
		text = "until it succeeds"
	case s.Kind == delivery.Timed:
		text = "for " + strictyaml.FormatDuration(s.Within)
	case !s.At.IsZero() && !s.At.After(v.req.Due):
		text = "at once, as it is past " + v.stamp(s.At)
	case !s.At.IsZero():
		text = "at " + v.stamp(s.At)
	case s.Kind == delivery.Delayed && s.Delay > 0:
		text = "after " + strictyaml.FormatDuration(s.Delay)
	}
	if s.Unless != "" {
		text += " unless " + string(s.Unless)
	}
	if s.Retry > 0 {
		text += fmt.Sprintf(", %d more times if it fails", s.Retry)
	}
	return strings.TrimLeft(text, ", ")
}

// stamp is a time in the rule's timezone.
func (v *view) stamp(t time.Time) string {
	zone, err := time.LoadLocation(v.req.Rule.Schedule.Timezone)
	if err != nil { // the rule was loaded with it
		zone = time.UTC
	}
	return t.In(zone).Format("2006-01-02 15:04:05 -07:00")
}

// subscriptions are those of the type; they are asked for once.
func (v *view) subscriptions(ctx context.Context, typ string) ([]ledger.Subscription, error) {
	if subs, ok := v.subs[typ]; ok {
		return subs, nil
	}
	subs, err := v.req.Subscriptions(ctx, typ)
	if err != nil {
		return nil, fmt.Errorf("look up the subscriptions: %w", err)
	}
	v.subs[typ] = subs
	return subs, nil
}

func recipients(subs []ledger.Subscription, warehouse string) []string {
	var list []string
	for _, s := range subs {
		if s.Warehouse == "*" || s.Warehouse == warehouse {
			list = append(list, s.Subscriber)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
