package why

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tallyman/engine/judge"
	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/schedule"
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

func (g *gatherer) hold(code, format string, args ...any) {
	g.answer.Reasons = append(g.answer.Reasons, Reason{code, fmt.Sprintf(format, args...)})
}

// rule is what keeps the rule as a whole from telling anything.
func (g *gatherer) rule() {
	a := g.answer
	switch {
	case !a.Enabled:
		g.hold("disabled", "the rule is disabled%s: it does not run, and its findings stay as they are", switchedBy(a.Switch))
	case !a.Verified:
		g.hold("unverified", "the rule does not run: %s", a.Reason)
	case a.LastRun == nil:
		g.hold("not_run", "the rule has not run yet")
	case a.LastRun.Outcome == ledger.OutcomeFailed:
		g.hold("failed", "the last run failed and left the findings as they were: %s", a.LastRun.Error)
	}
	if a.Rule.Shadow && a.Promoted.IsZero() {
		g.hold("shadow", "the rule is in shadow: what it finds goes to the inbox of %s alone", judge.ShadowSubscriber(a.Rule.ID))
	}
}

// row is what the source says.
func (g *gatherer) row() {
	l := g.answer.Look
	switch {
	case !l.answered():
	case !l.Found && g.answer.Rule.Mode == rules.ModeEvent:
		g.hold("absent", "the probe does not return the row: it is not there, or not above the watermark any more")
	case !l.Found:
		g.hold("absent", "the probe does not return the row")
	case l.Fault != "":
		g.hold("errored", "the row cannot be judged or told, which leaves its finding as it is: %s", l.Fault)
	case !l.Match:
		g.hold("no_match", "the %s does not meet the condition", g.subject())
	}
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
	case f.Phase == finding.Pending:
		seen := g.state.Clock - f.SeenClock
		g.hold("for", "it has been seen for %s of the %s that `for` asks: %s are missing", span(seen), span(g.answer.Rule.For), span(g.answer.Rule.For-seen))
	default:
		g.firing(f)
	}
}

func (g *gatherer) firing(f *ledger.Finding) {
	r := g.answer.Rule
	if !f.AbsentSince.IsZero() {
		g.hold("keep_firing_for", "no run since %s has seen it; it resolves when it has stayed away for %s", stamp(f.AbsentSince), span(r.KeepFiringFor))
	}
	if f.Ordinal == 0 {
		return // it was silenced from the first
	}
	g.hold("repeat", "it was told at %s, and is %s", stamp(f.LastNotified), again(r, f.Priority))
	switch n := g.told(f.NoticeID); {
	case n == nil:
	case notice.IsDigest(n.ID):
		g.hold("limit", "it was told with %s in a digest, since the run had more to tell than limit.notices (%d)", counted(n.Count-1, "other finding"), r.Limit.Notices)
	case n.Key != f.Key:
		g.hold("group", "it was told as one of %s of the group %s", counted(n.Count, "finding"), n.Key)
	}
}

const highestPriority = 5

// again says when a firing finding is told again.
func again(r *rules.Rule, priority int) string {
	repeat, rises := r.RepeatInterval, fmt.Sprintf("when its priority rises above %d", priority)
	can := priority < highestPriority
	if len(r.GroupBy) > 0 {
		joins := "when another finding joins its group"
		if can {
			joins += ", or " + rises
		}
		can, rises = true, joins
	}
	switch {
	case repeat > 0 && can:
		return "told again after " + span(repeat) + ", or " + rises
	case repeat > 0:
		return "told again after " + span(repeat)
	case can:
		return "told again only " + rises + ": the rule has no repeat_interval"
	default:
		return "not told again: the rule has no repeat_interval"
	}
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
	gets := "no inbox gets it"
	if g.answer.Rule.Shadow && g.answer.Promoted.IsZero() {
		gets = "no other inbox would get it once the rule is promoted"
	}
	g.hold("unsubscribed", "nobody subscribes to %s in warehouse %s: %s", typ, warehouse, gets)
	return nil
}

// span writes a duration without the zero parts that Go adds.
func span(d time.Duration) string {
	s := d.Round(time.Second).String()
	if cut, ok := strings.CutSuffix(s, "m0s"); ok {
		s = cut + "m"
	}
	if cut, ok := strings.CutSuffix(s, "h0m"); ok {
		s = cut + "h"
	}
	return s
}

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
	holding := g.silencer.Holding(a.Asked, judge.Subject(a.Rule, typ, warehouse))
	does := "holds back what there is to tell"
	if a.Rule.Mode == rules.ModeEvent {
		does = "drops new rows"
	}
	for _, s := range holding {
		name := s.ID
		if s.Comment != "" {
			name += " (" + s.Comment + ")"
		}
		g.hold("silenced", "silence %s %s until %s", name, does, stamp(s.Until))
	}
	if len(holding) > 0 {
		g.quiet = holding[0].Until
	} else if f := a.Finding; f != nil && f.Silenced != "" {
		g.hold("was_silenced", "%s held back what the last run had to tell; the next run tells it", silenceNames(f.Silenced))
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
