package preview

import (
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/schedule"
)

// Fate is what the run does to a row or a finding.
type Fate string

// The fates.
const (
	Pends      Fate = "pends"       // The finding is pending: it waits as long as the rule's `for` asks.
	Fires      Fate = "fires"       // The finding gets its first notice.
	GoesOn     Fate = "goes_on"     // The finding has a notice and gets no other one.
	Reminded   Fate = "reminded"    // The finding gets another notice: repeat_interval is over.
	Rises      Fate = "rises"       // The finding gets another notice: its priority is higher.
	Differs    Fate = "differs"     // The finding gets another notice: a column of notify_again_on has changed.
	ToldAgain  Fate = "told_again"  // The finding gets another notice together with other findings.
	Resolves   Fate = "resolves"    // The finding is over.
	Dropped    Fate = "dropped"     // The finding was pending and is gone.
	Kept       Fate = "kept"        // The finding is gone, but not yet for as long as keep_firing_for asks.
	Untouched  Fate = "untouched"   // The finding stays as it was.
	Repeated   Fate = "repeated"    // An earlier row has the same key.
	Event      Fate = "event"       // A new row of mode event, which gets a notice.
	KnownEvent Fate = "known_event" // A row of mode event that has a notice already.
	SeenBefore Fate = "seen_before" // A row of mode event that an earlier run has seen. look_back reads it again.
	Baseline   Fate = "baseline"    // The row was there at the first run, which sends no notices.
)

// lifeTable compares the findings before and after the run.
type lifeTable struct {
	rule          *rules.Rule
	schedule      *schedule.Schedule
	due           time.Time
	clock         time.Duration // The observed clock after the run.
	before, after map[string]finding.State
	carried       map[string]*notice.Notice // The notices that findings carried before the run, keyed by id.
	made          map[string]*notice.Notice // The notices of the run, keyed by id.
}

// of returns the life of the finding with that key. Its Fate is empty where there is no such finding.
func (l *lifeTable) of(key string) Life {
	before, known := l.before[key]
	after, open := l.after[key]
	switch {
	case !known && !open:
		return Life{}
	case !open && before.Phase == finding.Pending:
		return Life{Fate: Dropped, Since: moment(before.Episode)}
	case !open:
		return Life{Fate: Resolves, Since: moment(before.FiringSince)}
	case after.Baseline && after.AbsentSince.IsZero():
		return Life{Fate: Baseline, Since: moment(after.Episode)}
	case after.Phase == finding.Pending:
		return l.pending(after)
	}
	life := Life{Since: moment(after.FiringSince)}
	if n := l.made[after.NoticeID]; n != nil && after.NoticeID != before.NoticeID {
		life.Notice, life.In = n.ID, together(n, key)
		life.Fate = fateOf(before, after, known, life.In)
		return life
	}
	if known && after.Ordinal > before.Ordinal { // A digest reminds of the finding, which keeps its own notice.
		life.Notice, life.In = l.digest(before.NoticeID), "digest"
		life.Fate = fateOf(before, after, known, life.In)
		return life
	}
	if !after.AbsentSince.IsZero() {
		life.Fate, life.Next = Kept, l.resolves(after)
		return life
	}
	life.Fate, life.Next = GoesOn, l.reminded(after)
	return life
}

// digest returns the id of the run's digest in the warehouse of a notice. digest is empty where either is not known.
func (l *lifeTable) digest(noticeID string) string {
	own := l.carried[noticeID]
	for id, n := range l.made {
		if own != nil && notice.IsDigest(id) && n.Warehouse == own.Warehouse {
			return id
		}
	}
	return ""
}

// fateOf returns why a firing finding gets a notice of this run.
func fateOf(before, after finding.State, known bool, in string) Fate {
	switch {
	case !known || before.Phase == finding.Pending || before.Ordinal == 0 && !before.Baseline:
		// With Ordinal 0 and no baseline, silences have withheld every notice so far.
		return Fires
	case after.Priority > before.Priority:
		return Rises
	case before.Watched != after.Watched:
		return Differs
	case in != "" && before.Baseline:
		return Fires
	case in != "":
		return ToldAgain
	}
	return Reminded
}

// together returns "digest" or "group" where the notice is about more than the finding with that key, and else "".
func together(n *notice.Notice, key string) string {
	switch {
	case n.Key == key:
		return ""
	case notice.IsDigest(n.ID):
		return "digest"
	}
	return "group"
}

// pending returns the life of a pending finding. Next is when the finding fires if every run until then sees its row.
func (l *lifeTable) pending(st finding.State) Life {
	return Life{Fate: Pends, Since: moment(st.Episode), Next: l.observed(st.SinceClock + l.rule.For)}
}

// observed returns the due time of the first future run at which the observed clock has reached the value. Nil means
// none of the next runs does.
func (l *lifeTable) observed(clock time.Duration) *time.Time {
	const most = 10_000 // runs to look ahead
	left, due := clock-l.clock, l.due
	for range most {
		next := l.schedule.Next(due)
		left -= min(next.Sub(due), l.schedule.Shortest())
		due = next
		if left <= 0 {
			return moment(due)
		}
	}
	return nil
}

// resolves returns the first run at which the finding was gone for as long as keep_firing_for asks.
func (l *lifeTable) resolves(st finding.State) *time.Time {
	return l.observed(st.SinceClock + l.rule.KeepFiringFor)
}

// reminded returns the first run at which repeat_interval is over. Nil means never.
func (l *lifeTable) reminded(st finding.State) *time.Time {
	if l.rule.RepeatInterval == 0 {
		return nil
	}
	return l.runAt(st.LastNotified.Add(l.rule.RepeatInterval))
}

// runAt returns the first firing at or after t, and after this run.
func (l *lifeTable) runAt(t time.Time) *time.Time {
	if t.Add(-1).Before(l.due) {
		t = l.due.Add(1)
	}
	return moment(l.schedule.Next(t.Add(-1)))
}

// moment returns a time for the report. Nil means none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
