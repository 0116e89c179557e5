package why

import (
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

// gatherer collects the reasons why a finding gets no notice, and the forecast.
type gatherer struct {
	*Explainer
	answer *Answer
	state  ledger.ScopeState
	sched  *schedule.Schedule
	quiet  time.Time // Until then silences withhold every notice of the finding. Zero means no silence does.
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

// rule adds the reasons that concern the rule as a whole.
func (g *gatherer) rule() {
	a := g.answer
	switch {
	case !a.Enabled:
		g.hold("disabled", switchFacts(a.Switch), "the rule is disabled%s: the rule does not run, and its findings stay as they are", switchedBy(a.Switch))
	case !a.Verified:
		g.hold("unverified", Facts{Error: a.Reason}, "the rule does not run: %s", a.Reason)
	case a.LastRun == nil:
		g.hold("not_run", Facts{Baseline: g.isBaselineNext()}, "the rule has not run yet%s", g.firstRun())
	case a.LastRun.Outcome == ledger.OutcomeFailed:
		g.hold("failed", Facts{Error: a.LastRun.Error}, "the last run failed and left the findings as they were: %s", a.LastRun.Error)
	}
	if a.Rule.Shadow && a.Promoted.IsZero() {
		g.hold("shadow", Facts{Subscriber: judge.ShadowSubscriber(a.Rule.ID)}, "the rule is in shadow: its notices go only to the inbox of %s", judge.ShadowSubscriber(a.Rule.ID))
	}
}

// row adds the reasons that the look at the source gives.
func (g *gatherer) row() {
	l := g.answer.Look
	switch {
	case !l.answered():
	case !l.Found && g.answer.Rule.Mode == rules.ModeEvent:
		g.hold("absent", Facts{Event: true}, "the probe does not return the row: the row is gone, or its values are no longer above the watermark")
	case !l.Found:
		g.hold("absent", Facts{}, "the probe does not return the row")
	case l.Fault != "":
		g.hold("errored", Facts{Error: l.Fault}, "the row cannot be judged, or its notice cannot be made; the finding stays as it is: %s", l.Fault)
	case l.Seen:
		g.hold("seen", Facts{}, "an earlier run has seen the row: the probe returns it again for look_back, and no run judges it again")
	case !l.Match:
		g.hold("no_match", Facts{Result: g.answer.Rule.Per == rules.PerResult}, "the %s does not meet the condition", g.subject())
	}
}

// firstRun returns a clause that says that the first run will send no notices. firstRun is empty where that does not
// apply.
func (g *gatherer) firstRun() string {
	if !g.isBaselineNext() {
		return ""
	}
	return "; the first run takes all rows as known, and makes no notices of them (first_run: baseline)"
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

// finding adds the reasons that the finding's own state gives.
func (g *gatherer) finding() {
	f := g.answer.Finding
	switch {
	case f == nil:
	case f.Baseline && f.Phase == finding.Pending:
		g.hold("baseline", Facts{}, "the first run took all rows as known, also this one (first_run: baseline): the finding fires without a notice")
	case f.Phase == finding.Pending:
		seen := g.state.Clock - f.SinceClock
		g.hold("for", Facts{Seen: seen, Asked: g.answer.Rule.For}, "the row has been seen for %s of the %s that `for` asks: %s more are needed", span(seen), span(g.answer.Rule.For), span(g.answer.Rule.For-seen))
	default:
		g.firing(f)
	}
}

func (g *gatherer) firing(f *ledger.Finding) {
	r := g.answer.Rule
	if !f.AbsentSince.IsZero() {
		gone := g.state.Clock - f.SinceClock
		g.hold("keep_firing_for", Facts{At: f.AbsentSince, Seen: gone, Asked: r.KeepFiringFor}, "no run since %s has seen the row: the row has been gone for %s of the %s that keep_firing_for asks",
			stamp(f.AbsentSince), span(gone), span(r.KeepFiringFor))
	}
	if f.Baseline {
		next := "no notice is made"
		if news := newsOf(r, f.Priority); news != "" {
			next = "a notice is made " + news
		}
		g.hold("baseline", newsFacts(r, f.Priority), "the first run took all rows as known, also this one (first_run: baseline): %s", next)
		return
	}
	if f.Ordinal == 0 {
		return // No notice of the finding was sent yet: silences withheld it from the beginning.
	}
	last := newsFacts(r, f.Priority)
	last.At, last.Asked = f.LastNotified, r.RepeatInterval
	g.hold("repeat", last, "the last notice was made at %s; %s", stamp(f.LastNotified), again(r, f.Priority))
	switch n := g.noticeOf(f.NoticeID); {
	case n == nil:
	case notice.IsDigest(n.ID):
		g.hold("limit", Facts{Count: n.Count - 1, Most: r.Limit.Notices}, "the last notice was a digest with %s, because the run had more notices than limit.notices (%d)", counted(n.Count-1, "other finding"), r.Limit.Notices)
	case n.Key != f.Key:
		g.hold("group", Facts{Count: n.Count, Key: n.Key}, "the last notice covers %s of the group %s", counted(n.Count, "finding"), n.Key)
	}
}

// again says when a firing finding gets its next notice.
func again(r *rules.Rule, priority int) string {
	repeat, news := r.RepeatInterval, newsOf(r, priority)
	switch {
	case repeat > 0 && news != "":
		return "the next notice is made after " + span(repeat) + ", or " + news
	case repeat > 0:
		return "the next notice is made after " + span(repeat)
	case news != "":
		return "the next notice is made only " + news + ": the rule has no repeat_interval"
	default:
		return "no other notice is made: the rule has no repeat_interval"
	}
}

// newsOf says which changes cause a new notice of a finding with that priority. newsOf is empty where no change does.
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

// newsFacts returns the content of newsOf as Facts.
func newsFacts(r *rules.Rule, priority int) Facts {
	return Facts{Columns: r.NotifyAgainOn, Joins: len(r.GroupBy) > 0, Rises: priority < notice.HighestPriority, Priority: priority}
}

// noticeOf returns the finding's notice with that id, or nil.
func (g *gatherer) noticeOf(id string) *notice.Notice {
	for i := range g.answer.Notices {
		if g.answer.Notices[i].Notice.ID == id {
			return g.answer.Notices[i].Notice
		}
	}
	return nil
}

// audience adds a reason where nobody subscribes to the finding's type in its warehouse.
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
		gets = "no inbox gets it once the rule is promoted"
	}
	g.hold("unsubscribed", Facts{Type: typ, Warehouse: warehouse, Shadow: shadow}, "nobody subscribes to %s in warehouse %s: %s", typ, warehouse, gets)
	return nil
}

// span formats a duration to the second.
func span(d time.Duration) string { return strictyaml.FormatDuration(d.Round(time.Second)) }

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// switchedBy says who has disabled a rule. switchedBy is empty where the rule's file does.
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

// switchFacts returns the content of switchedBy as Facts.
func switchFacts(s *ledger.Switch) Facts {
	if s == nil {
		return Facts{}
	}
	return Facts{By: s.By, All: s.Rule == ledger.Every, Reason: s.Reason, Until: s.Until}
}

// mostWaiting is the largest number of pending deliveries of one notice that an answer considers.
const mostWaiting = 1000

var unlessText = map[delivery.Unless]string{
	delivery.UnlessRead: "somebody reads the notice", delivery.UnlessAcked: "somebody acks the notice", delivery.UnlessResolved: "the finding is over by then",
}

// goesTo says where a draft goes: one text for each entry of deliver that applies.
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
