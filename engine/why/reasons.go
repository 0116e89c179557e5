package why

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/delivery"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/schedule"
	"tallyman/rules/strictyaml"
)

// gatherer finds out what holds a finding back, and what comes next.
type gatherer struct {
	*Explainer
	answer *Answer
	state  ledger.ScopeState
	sched  *schedule.Schedule
	quiet  time.Time // until when silences hold back all that there is to tell
}

func (g *gatherer) explain(ctx context.Context) error {
	var err error
	if g.sched, err = schedule.Parse(g.answer.Rule.Schedule.Cron, g.answer.Rule.Schedule.Timezone); err != nil {
		return fmt.Errorf("engine: rule %s: %w", g.answer.Rule.ID, err)
	}
	g.rule()
	g.row()
	g.finding()
	g.silences()
	g.pushes()
	if err := g.audience(ctx); err != nil {
		return err
	}
	g.next()
	return nil
}

func (g *gatherer) hold(code string, facts Facts, format string, args ...any) {
	g.answer.Reasons = append(g.answer.Reasons, Reason{Code: code, Text: fmt.Sprintf(format, args...), Facts: facts})
}

// rule is what keeps the rule as a whole from telling anything.
func (g *gatherer) rule() {
	a := g.answer
	switch {
	case !a.Enabled:
		g.hold("disabled", switchFacts(a.Switch), "the rule is disabled%s: it does not run, and its findings stay as they are", switchedBy(a.Switch))
	case !a.Verified:
		g.hold("unverified", Facts{Error: a.Reason}, "the rule does not run: %s", a.Reason)
	case a.LastRun == nil:
		g.hold("not_run", Facts{Baseline: g.isBaselineNext()}, "the rule has not run yet%s", g.firstRun())
	case a.LastRun.Outcome == ledger.OutcomeFailed:
		g.hold("failed", Facts{Error: a.LastRun.Error}, "the last run failed and left the findings as they were: %s", a.LastRun.Error)
	}
	if a.Rule.Shadow && a.Promoted.IsZero() {
		g.hold("shadow", Facts{Subscriber: judge.ShadowSubscriber(a.Rule.ID)}, "the rule is in shadow: what it finds goes to the inbox of %s alone", judge.ShadowSubscriber(a.Rule.ID))
	}
}

// row is what the source says.
func (g *gatherer) row() {
	l := g.answer.Look
	switch {
	case !l.answered():
	case !l.Found && g.answer.Rule.Mode == rules.ModeEvent:
		g.hold("absent", Facts{Event: true}, "the probe does not return the row: it is not there, or not above the watermark any more")
	case !l.Found:
		g.hold("absent", Facts{}, "the probe does not return the row")
	case l.Fault != "":
		g.hold("errored", Facts{Error: l.Fault}, "the row cannot be judged or told, which leaves its finding as it is: %s", l.Fault)
	case l.Seen:
		g.hold("seen", Facts{}, "an earlier run has seen the row: the probe returns it again for look_back, and no run judges it again")
	case !l.Match:
		g.hold("no_match", Facts{Result: g.answer.Rule.Per == rules.PerResult}, "the %s does not meet the condition", g.subject())
	}
}

// firstRun says what becomes of the rows of a first run that is still to come; "" where they are told.
func (g *gatherer) firstRun() string {
	if !g.isBaselineNext() {
		return ""
	}
	return "; its first run takes the rows that it sees as known, and tells nothing of them (first_run: baseline)"
}

// isBaselineNext tells whether the next run is the first of a rule with first_run: baseline.
func (g *gatherer) isBaselineNext() bool {
	return g.answer.Rule.FirstRun == rules.FirstRunBaseline && g.state.IsFirst()
}

func (g *gatherer) subject() string {
	if g.answer.Rule.Per == rules.PerResult {
		return "result"
	}
	return "row"
}

// finding is what the finding's own state says.
func (g *gatherer) finding() {
	f := g.answer.Finding
	switch {
	case f == nil:
	case f.Baseline && f.Phase == finding.Pending:
		g.hold("baseline", Facts{}, "its row was there at the first run, which took all rows as known (first_run: baseline): it fires without a word")
	case f.Phase == finding.Pending:
		seen := g.state.Clock - f.SinceClock
		g.hold("for", Facts{Seen: seen, Asked: g.answer.Rule.For}, "it has been seen for %s of the %s that `for` asks: %s are missing", span(seen), span(g.answer.Rule.For), span(g.answer.Rule.For-seen))
	default:
		g.firing(f)
	}
}

func (g *gatherer) firing(f *ledger.Finding) {
	r := g.answer.Rule
	if !f.AbsentSince.IsZero() {
		gone := g.state.Clock - f.SinceClock
		g.hold("keep_firing_for", Facts{At: f.AbsentSince, Seen: gone, Asked: r.KeepFiringFor}, "no run since %s has seen it: it has been gone for %s of the %s that keep_firing_for asks",
			stamp(f.AbsentSince), span(gone), span(r.KeepFiringFor))
	}
	if f.Baseline {
		news := cmp.Or(newsOf(r, f.Priority), "never")
		g.hold("baseline", newsFacts(r, f.Priority), "its row was there at the first run, which took all rows as known (first_run: baseline): it is told %s", news)
		return
	}
	if f.Ordinal == 0 {
		return // it was silenced from the first
	}
	told := newsFacts(r, f.Priority)
	told.At, told.Asked = f.LastNotified, r.RepeatInterval
	g.hold("repeat", told, "it was told at %s, and is %s", stamp(f.LastNotified), again(r, f.Priority))
	switch n := g.told(f.NoticeID); {
	case n == nil:
	case notice.IsDigest(n.ID):
		g.hold("limit", Facts{Count: n.Count - 1, Most: r.Limit.Notices}, "it was told with %s in a digest, since the run had more to tell than limit.notices (%d)", counted(n.Count-1, "other finding"), r.Limit.Notices)
	case n.Key != f.Key:
		g.hold("group", Facts{Count: n.Count, Key: n.Key}, "it was told as one of %s of the group %s", counted(n.Count, "finding"), n.Key)
	}
}

// again says when a firing finding is told again.
func again(r *rules.Rule, priority int) string {
	repeat, news := r.RepeatInterval, newsOf(r, priority)
	switch {
	case repeat > 0 && news != "":
		return "told again after " + span(repeat) + ", or " + news
	case repeat > 0:
		return "told again after " + span(repeat)
	case news != "":
		return "told again only " + news + ": the rule has no repeat_interval"
	default:
		return "not told again: the rule has no repeat_interval"
	}
}

// newsOf says what would be news of a finding that is known with the priority; "" where nothing would.
func newsOf(r *rules.Rule, priority int) string {
	var news []string
	if len(r.NotifyAgainOn) > 0 {
		news = append(news, "when "+strings.Join(r.NotifyAgainOn, " or ")+" changes")
	}
	if len(r.GroupBy) > 0 {
		news = append(news, "when another finding joins its group")
	}
	if priority < notice.HighestPriority {
		news = append(news, fmt.Sprintf("when its priority rises above %d", priority))
	}
	return strings.Join(news, ", or ")
}

// newsFacts is what newsOf says.
func newsFacts(r *rules.Rule, priority int) Facts {
	return Facts{Columns: r.NotifyAgainOn, Joins: len(r.GroupBy) > 0, Rises: priority < notice.HighestPriority, Priority: priority}
}

// told returns the notice with that id.
func (g *gatherer) told(id string) *notice.Notice {
	for i := range g.answer.Notices {
		if g.answer.Notices[i].Notice.ID == id {
			return g.answer.Notices[i].Notice
		}
	}
	return nil
}

// audience looks whether anybody would get it.
func (g *gatherer) audience(ctx context.Context) error {
	typ, warehouse := g.aboutWhat()
	inbox := func(t ledger.Target) bool { return t.Inbox && t.Recipients == nil }
	if warehouse == "" || !slices.ContainsFunc(judge.NewAddress(g.answer.Rule, g.channels).Live, inbox) {
		return nil
	}
	list, err := g.ledger.Recipients(ctx, typ, warehouse)
	if err != nil || len(list) > 0 {
		return err
	}
	gets, shadow := "no inbox gets it", g.answer.Rule.Shadow && g.answer.Promoted.IsZero()
	if shadow {
		gets = "no other inbox would get it once the rule is promoted"
	}
	g.hold("unsubscribed", Facts{Type: typ, Warehouse: warehouse, Shadow: shadow}, "nobody subscribes to %s in warehouse %s: %s", typ, warehouse, gets)
	return nil
}

// span is a duration to the second.
func span(d time.Duration) string { return strictyaml.FormatDuration(d.Round(time.Second)) }

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// silences says which silences hold it back, and until when.
func (g *gatherer) silences() {
	a := g.answer
	if a.Rule.Shadow && a.Promoted.IsZero() {
		return // see pass.silenced
	}
	typ, warehouse := g.aboutWhat()
	if typ == "" {
		typ, warehouse = a.Rule.Notice.Type, a.Rule.Scope
	}
	holding := g.silencer.Holding(a.Asked, judge.Subject(a.Rule, typ, warehouse, g.toldKey()))
	does := "holds back what there is to tell"
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
		g.hold("was_silenced", Facts{Silences: strings.Fields(f.Silenced)}, "%s held back what the last run had to tell; the next run tells it", silenceNames(f.Silenced))
	}
}

// aboutWhat is the type and the warehouse of what would be told, "" where neither the row nor a notice says that.
func (g *gatherer) aboutWhat() (typ, warehouse string) {
	if l := g.answer.Look; l != nil && l.Type != "" {
		return l.Type, l.Warehouse
	}
	if len(g.answer.Notices) > 0 {
		return g.answer.Notices[0].Notice.Type, g.answer.Notices[0].Notice.Warehouse
	}
	return "", ""
}

// toldKey is the key under which there is something to tell: of the finding's group, where the rule tells groups.
func (g *gatherer) toldKey() string {
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

// switchedBy says who has disabled a rule; "" where its file does.
func switchedBy(s *ledger.Switch) string {
	if s == nil {
		return ""
	}
	text := " by " + s.By
	if s.Rule == ledger.Every {
		text += ", with all others"
	}
	if s.Reason != "" {
		text += " (" + s.Reason + ")"
	}
	if !s.Until.IsZero() {
		text += " until " + stamp(s.Until)
	}
	return text
}

// switchFacts is what switchedBy says.
func switchFacts(s *ledger.Switch) Facts {
	if s == nil {
		return Facts{}
	}
	return Facts{By: s.By, All: s.Rule == ledger.Every, Reason: s.Reason, Until: s.Until}
}

// mostWaiting is how many pending deliveries of one notice are looked at.
const mostWaiting = 1000

// waiting reads how the pending deliveries to push channels stand.
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

// pushes says why deliveries to push channels have not gone out; of many to one channel for one reason the first.
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
		return Reason{"push_behind", what + " waits until the one of the finding before it has ended", facts}
	case d.HeldBy != "":
		facts.Silences, facts.At = []string{d.HeldBy}, d.Next
		return Reason{"push_silenced", fmt.Sprintf("%s is held back by silence %s; it is looked at again at %s, or when somebody ends that", what, d.HeldBy, stamp(d.Next)), facts}
	case d.Attempts > 0:
		facts.Attempts, facts.Until, facts.Error = d.Attempts, d.Deadline, d.LastError
		again := "is tried again at " + stamp(d.Next)
		if facts.At = d.Next; !d.Next.After(now) {
			again, facts.At = "is to be tried again: the channel is busy, or held back after failures", time.Time{}
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
		return Reason{"push_due", what + " has not been tried yet: the channel is busy, held back after failures, or no node runs it", facts}
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
