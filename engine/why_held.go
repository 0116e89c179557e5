package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/schedule"
)

// holder finds out what holds a finding back, and what comes next.
type holder struct {
	w     *Why
	e     *Engine
	state ledger.ScopeState
	sched *schedule.Schedule
	quiet time.Time // until when silences hold back all that there is to tell
}

func (h *holder) explain(ctx context.Context) error {
	var err error
	if h.sched, err = schedule.Parse(h.w.Rule.Schedule.Cron, h.w.Rule.Schedule.Timezone); err != nil {
		return fmt.Errorf("engine: rule %s: %w", h.w.Rule.ID, err)
	}
	h.rule()
	h.row()
	h.finding()
	h.silences()
	h.pushes()
	if err := h.audience(ctx); err != nil {
		return err
	}
	h.next()
	return nil
}

func (h *holder) hold(code, format string, args ...any) {
	h.w.Held = append(h.w.Held, Held{code, fmt.Sprintf(format, args...)})
}

// rule is what keeps the rule as a whole from telling anything.
func (h *holder) rule() {
	w := h.w
	switch {
	case !w.Enabled:
		h.hold("disabled", "the rule is disabled%s: it does not run, and its findings stay as they are", switchedBy(w.Switch))
	case !w.Verified:
		h.hold("unverified", "the rule does not run: %s", w.Reason)
	case w.LastRun == nil:
		h.hold("not_run", "the rule has not run yet")
	case w.LastRun.Outcome == ledger.OutcomeFailed:
		h.hold("failed", "the last run failed and left the findings as they were: %s", w.LastRun.Error)
	}
	if w.Rule.Shadow && w.Promoted.IsZero() {
		h.hold("shadow", "the rule is in shadow: what it finds goes to the inbox of %s alone", ShadowSubscriber(w.Rule.ID))
	}
}

// row is what the source says.
func (h *holder) row() {
	l := h.w.Look
	switch {
	case !l.answered():
	case !l.Found && h.w.Rule.Mode == rules.ModeEvent:
		h.hold("absent", "the probe does not return the row: it is not there, or not above the watermark any more")
	case !l.Found:
		h.hold("absent", "the probe does not return the row")
	case l.Fault != "":
		h.hold("errored", "the row cannot be judged or told, which leaves its finding as it is: %s", l.Fault)
	case !l.Match:
		h.hold("no_match", "the %s does not meet the condition", h.subject())
	}
}

func (h *holder) subject() string {
	if h.w.Rule.Per == rules.PerResult {
		return "result"
	}
	return "row"
}

// finding is what the finding's own state says.
func (h *holder) finding() {
	f := h.w.Finding
	switch {
	case f == nil:
	case f.Phase == finding.Pending:
		seen := h.state.Clock - f.SeenClock
		h.hold("for", "it has been seen for %s of the %s that `for` asks: %s are missing", span(seen), span(h.w.Rule.For), span(h.w.Rule.For-seen))
	default:
		h.firing(f)
	}
}

func (h *holder) firing(f *ledger.Finding) {
	r := h.w.Rule
	if !f.AbsentSince.IsZero() {
		h.hold("keep_firing_for", "no run since %s has seen it; it resolves when it has stayed away for %s", stamp(f.AbsentSince), span(r.KeepFiringFor))
	}
	if f.Ordinal == 0 {
		return // it was silenced from the first
	}
	h.hold("repeat", "it was told at %s, and is %s", stamp(f.LastNotified), again(r, f.Priority))
	switch n := h.told(f.NoticeID); {
	case n == nil:
	case notice.IsDigest(n.ID):
		h.hold("limit", "it was told with %s in a digest, since the run had more to tell than limit.notices (%d)", counted(n.Count-1, "other finding"), r.Limit.Notices)
	case n.Key != f.Key:
		h.hold("group", "it was told as one of %s of the group %s", counted(n.Count, "finding"), n.Key)
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
func (h *holder) told(id string) *notice.Notice {
	for i := range h.w.Told {
		if h.w.Told[i].Notice.ID == id {
			return h.w.Told[i].Notice
		}
	}
	return nil
}

// audience looks whether anybody would get it.
func (h *holder) audience(ctx context.Context) error {
	typ, warehouse := h.aboutWhat()
	inbox := func(t ledger.Target) bool { return t.Inbox && t.Recipients == nil }
	if warehouse == "" || !slices.ContainsFunc(h.e.opts.targets(h.w.Rule), inbox) {
		return nil
	}
	list, err := h.e.opts.Ledger.Recipients(ctx, typ, warehouse)
	if err != nil || len(list) > 0 {
		return err
	}
	gets := "no inbox gets it"
	if h.w.Rule.Shadow && h.w.Promoted.IsZero() {
		gets = "no other inbox would get it once the rule is promoted"
	}
	h.hold("unsubscribed", "nobody subscribes to %s in warehouse %s: %s", typ, warehouse, gets)
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
