package preview

import (
	"time"

	"tallyman/internal/finding"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/schedule"
)

// Fate is what the run makes of a row or a finding.
type Fate string

// The fates.
const (
	Pends      Fate = "pends"       // it waits for its time
	Fires      Fate = "fires"       // it is told
	GoesOn     Fate = "goes_on"     // it was told, and nothing is said
	Reminded   Fate = "reminded"    // it is told once more: repeat_interval is over
	Rises      Fate = "rises"       // it is told once more: its priority is higher
	Differs    Fate = "differs"     // it is told once more: a column of notify_again_on has changed
	ToldAgain  Fate = "told_again"  // it is told once more, with others
	Resolves   Fate = "resolves"    // it is over
	Dropped    Fate = "dropped"     // it was pending and is gone
	Kept       Fate = "kept"        // it is gone, but not for as long as keep_firing_for asks
	Untouched  Fate = "untouched"   // it stays as it was
	Repeated   Fate = "repeated"    // a row before has the same key
	Event      Fate = "event"       // a new row of mode event: it is told
	KnownEvent Fate = "known_event" // a row of mode event that was told before
	SeenBefore Fate = "seen_before" // a row of mode event that an earlier run has seen; look_back reads it again
	Baseline   Fate = "baseline"    // it was there at the first run, which tells nothing of what it sees
)

// lives compares the findings before and after the run.
type lifeTable struct {
	rule          *rules.Rule
	schedule      *schedule.Schedule
	due           time.Time
	clock         time.Duration // the observed clock after the run
	before, after map[string]finding.State
	carried, made map[string]*notice.Notice // before the run, and by it
}

// of is the life of the finding with that key; "" where there is none.
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
		life.Fate = told(before, after, known, life.In)
		return life
	}
	if known && after.Ordinal > before.Ordinal { // told in a digest, and its own notice stays its own
		life.Notice, life.In = l.digest(before.NoticeID), "digest"
		life.Fate = told(before, after, known, life.In)
		return life
	}
	if !after.AbsentSince.IsZero() {
		life.Fate, life.Next = Kept, l.resolves(after)
		return life
	}
	life.Fate, life.Next = GoesOn, l.reminded(after)
	return life
}

// digest is the id of the run's digest in the warehouse of a notice; "" where either is not known.
func (l *lifeTable) digest(noticeID string) string {
	own := l.carried[noticeID]
	for id, n := range l.made {
		if own != nil && notice.IsDigest(id) && n.Warehouse == own.Warehouse {
			return id
		}
	}
	return ""
}

// told is why a firing finding has a notice of this run.
func told(before, after finding.State, known bool, in string) Fate {
	switch {
	case !known || before.Phase == finding.Pending || before.Ordinal == 0 && !before.Baseline: // silenced from the first
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

// together says whether the notice tells more than the finding of that key.
func together(n *notice.Notice, key string) string {
	switch {
	case n.Key == key:
		return ""
	case notice.IsDigest(n.ID):
		return "digest"
	}
	return "group"
}

// pending tells when the finding fires, if every run until then sees it.
func (l *lifeTable) pending(st finding.State) Life {
	return Life{Fate: Pends, Since: moment(st.Episode), Next: l.observed(st.SinceClock + l.rule.For)}
}

// observed is the first run to come at which the observed clock has reached that; nil where none of the next runs does.
func (l *lifeTable) observed(clock time.Duration) *time.Time {
	const most = 10_000 // runs that are walked through
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

// resolves is the first run at which the finding has been gone for long enough.
func (l *lifeTable) resolves(st finding.State) *time.Time {
	return l.observed(st.SinceClock + l.rule.KeepFiringFor)
}

// reminded is the first run at which the finding is told again; nil for never.
func (l *lifeTable) reminded(st finding.State) *time.Time {
	if l.rule.RepeatInterval == 0 {
		return nil
	}
	return l.runAt(st.LastNotified.Add(l.rule.RepeatInterval))
}

// runAt is the first firing at or after t that comes after this run.
func (l *lifeTable) runAt(t time.Time) *time.Time {
	if t.Add(-1).Before(l.due) {
		t = l.due.Add(1)
	}
	return moment(l.schedule.Next(t.Add(-1)))
}

// moment is a time for a report; nil for none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
