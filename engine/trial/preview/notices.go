package preview

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tallyman/engine/judge"
	"tallyman/engine/trial"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/internal/silence"
	"tallyman/rules"
	"tallyman/rules/strictyaml"
)

// notices lists the notices of the run and who gets them.
func (v *view) notices(ctx context.Context) error {
	var err error
	v.report.Notices, err = v.list(ctx, v.made)
	v.report.LeftOut.Notices = len(v.made) - len(v.report.Notices)
	return err
}

// list addresses the notices. list adds a note where nobody would get a notice.
func (v *view) list(ctx context.Context, made []ledger.NewNotice) ([]Notice, error) {
	listed := []Notice{}
	nobody := map[string]int{}
	silent := map[string]int{}
	for i := range made {
		n := made[i].Notice
		to, err := v.destinations(ctx, &made[i])
		if err != nil {
			return nil, err
		}
		if len(to) == 0 {
			v.note("%s goes nowhere: no `when` of deliver lets it through", n.Title)
		}
		for _, d := range to {
			if v.req.Sinks[d.Sink].Inbox && len(d.Recipients) == 0 && n.Status != notice.Resolved {
				nobody[fmt.Sprintf("nobody is subscribed to %s in warehouse %s", n.Type, n.Warehouse)]++
			}
		}
		by := v.silencedBy(n)
		if by != "" {
			silent[by]++
		}
		if v.req.Limit == 0 || i < v.req.Limit {
			listed = append(listed, Notice{Form: n.Form(), Texts: texts(n), Known: v.known[n.ID], Silenced: by, To: to})
		}
	}
	for _, by := range slices.Sorted(maps.Keys(silent)) {
		v.note("%s: %s would not be made", by, plural(silent[by], "notice"))
	}
	for _, text := range slices.Sorted(maps.Keys(nobody)) {
		v.note("%s: %s would reach no inbox", text, plural(nobody[text], "notice"))
	}
	return listed, nil
}

// later lists the notices that pending findings would get. later runs the same rows through the rule without its `for`.
func (v *view) later(ctx context.Context) error {
	if v.run.Run.Pending == 0 || v.run.Run.Outcome == ledger.OutcomeFailed {
		return nil
	}
	hasty := *v.req.Rule
	hasty.For = 0
	try, err := trial.New(&hasty, &fixedSource{columns: v.columns, rows: v.run.Rows}, v.req.Types, v.start)
	if err != nil {
		return err
	}
	if err := try.Verify(ctx); err != nil {
		return err
	}
	run, err := try.Run(ctx, v.req.Due)
	if err != nil {
		return err
	}
	var made []ledger.NewNotice
	for _, c := range run.Commits {
		for _, n := range c.Notices {
			if v.lives.made[n.Notice.ID] == nil && n.Notice.Status == notice.Firing {
				made = append(made, n)
			}
		}
	}
	if v.report.Later, err = v.list(ctx, made); err != nil {
		return err
	}
	v.report.LeftOut.Later = len(made) - len(v.report.Later)
	for i := range v.report.Later {
		form := &v.report.Later[i].Form // The id and the episode depend on the run that sends the notice.
		form.ID, form.Episode = "", ""
	}
	return nil
}

// knownEvents returns the ids of the run's notices that the ledger has already. The rule finds such an event again
// because its watermark was moved back, or because the source shows old rows again.
func (v *view) knownEvents(ctx context.Context) (map[string]bool, error) {
	known := map[string]bool{}
	if v.req.Ledger == nil || v.req.Rule.Mode != rules.ModeEvent || len(v.made) == 0 {
		return known, nil
	}
	ids := make([]string, len(v.made))
	for i, n := range v.made {
		ids[i] = n.Notice.ID
	}
	found, err := v.req.Ledger.Notices(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("look up the notices in the ledger: %w", err)
	}
	for id := range found {
		known[id] = true
	}
	return known, nil
}

func texts(n *notice.Notice) map[string]Text {
	if len(n.Texts) == 0 {
		return nil
	}
	out := map[string]Text{}
	for lang, t := range n.Texts {
		out[lang] = Text(t)
	}
	return out
}

// silencedBy names the silence that would withhold the notice, and its end. Of several it names the one with the latest
// end. Empty means no silence would. No silence withholds a resolution or a notice of a rule in shadow.
func (v *view) silencedBy(n *notice.Notice) string {
	if v.req.Silencer == nil || n.Status == notice.Resolved || v.req.Rule.Shadow && v.start.State.Promoted.IsZero() {
		return ""
	}
	holding := v.req.Silencer.Holding(v.req.Due, silence.SubjectOf(n))
	if len(holding) == 0 {
		return ""
	}
	text := "silence " + holding[0].ID
	if holding[0].Comment != "" {
		text += " (" + holding[0].Comment + ")"
	}
	return text + " until " + holding[0].Until.UTC().Format("2006-01-02 15:04:05Z")
}

// destinations returns the sinks that get the notice. An inbox has the recipients that a commit would look up.
func (v *view) destinations(ctx context.Context, n *ledger.NewNotice) ([]Destination, error) {
	to := []Destination{}
	if v.report.Shadow {
		name, typ := v.req.inbox()
		return append(to, Destination{
			Sink: name, Type: typ, Recipients: []string{judge.ShadowSubscriber(n.Notice.Rule)},
			Note: "the rule is in shadow: nobody else gets the notice",
		}), nil
	}
	for _, t := range n.Sinks {
		if t.Recipients != nil {
			continue // The shadow inbox, which a resolution may also go to.
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
		dest.Note = "removes the item, unless a worker holds it"
	case isQueue:
		dest.Note = "makes an item, unless the queue still has an item of the finding"
	case resolved:
		dest.Note = "only if the firing notice went to this sink"
	case sink.Inbox || sink.Each:
		subs, err := v.subscriptions(ctx, n.Type)
		if err != nil {
			return dest, err
		}
		switch dest.Recipients = recipients(subs, n.Warehouse); {
		case len(dest.Recipients) == 0:
			dest.Note = "nobody is subscribed"
		case sink.Address != "":
			dest.Note = "only recipients with an address"
		}
	}
	return dest, nil
}

// how describes the strategy of a push channel in words. Empty means one attempt, at once.
func (v *view) how(s *delivery.Strategy) string {
	text := ""
	switch {
	case s.Until == delivery.UntilSent:
		text = "until it succeeds, even after the notice has expired"
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

// stamp formats a time in the rule's timezone.
func (v *view) stamp(t time.Time) string {
	zone, err := time.LoadLocation(v.req.Rule.Schedule.Timezone)
	if err != nil { // Not expected: the rule was loaded with this timezone.
		zone = time.UTC
	}
	return t.In(zone).Format("2006-01-02 15:04:05 -07:00")
}

// subscriptions returns the subscriptions to the type. Each type is asked for once.
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
