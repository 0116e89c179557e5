package engine

import (
	"strings"
	"testing"
	"time"

	"tallyman/rules"
	"tallyman/rules/schedule"
)

var eight = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

// minute returns eight o'clock plus some minutes.
func minute(m int) time.Time { return eight.Add(time.Duration(m) * time.Minute) }

// everyFive is due every five minutes, with a jitter of one minute.
func everyFive(t *testing.T, overlap rules.Overlap, catchUp rules.CatchUp) *firingPlan {
	t.Helper()
	s, err := schedule.Parse("*/5 * * * *", "")
	if err != nil {
		t.Fatal(err)
	}
	return &firingPlan{schedule: s, jitter: time.Minute, overlap: overlap, catchUp: catchUp}
}

// todo returns the queue and the firing after it, in minutes.
func (p *firingPlan) todo() string {
	var list []string
	for _, due := range append(append([]time.Time(nil), p.queue...), p.schedule.Next(p.last())) {
		list = append(list, due.Sub(eight).String())
	}
	return strings.ReplaceAll(strings.Join(list, " "), "m0s", "")
}

func (p *firingPlan) last() time.Time {
	if n := len(p.queue); n > 0 {
		return p.queue[n-1]
	}
	return p.base
}

func TestPlanBegin(t *testing.T) {
	cases := []struct {
		name    string
		catchUp rules.CatchUp
		now     int
		want    string
	}{
		{"nothing missed", rules.CatchUpAll, 4, "5"},
		{"none", rules.CatchUpNone, 17, "20"},
		{"once", rules.CatchUpOnce, 17, "15 20"},
		{"all", rules.CatchUpAll, 17, "5 10 15 20"},
		{"starts at this very moment", rules.CatchUpOnce, 6, "5 10"},
		{"due, and its jitter is not over", rules.CatchUpNone, 5, "5"},
		{"missed one, and the jitter of the next is not over", rules.CatchUpOnce, 10, "5 10"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := everyFive(t, rules.OverlapSkip, c.catchUp)
			p.begin(minute(0), minute(c.now))
			if got := p.todo(); got != c.want {
				t.Errorf("plans %s, want %s", got, c.want)
			}
		})
	}
	p := everyFive(t, rules.OverlapSkip, rules.CatchUpAll)
	p.begin(minute(0), minute(24*60+1))
	if len(p.queue) != 100 || !p.queue[99].Equal(minute(24*60)) {
		t.Errorf("a day gives %d, to %v", len(p.queue), p.queue[len(p.queue)-1])
	}
}

func TestPlanLate(t *testing.T) {
	cases := []struct {
		name    string
		catchUp rules.CatchUp
		now     int
		want    string
	}{
		{"in time", rules.CatchUpNone, 6, "5"},
		{"late by less than a firing", rules.CatchUpNone, 10, "5"},
		{"none still runs one", rules.CatchUpNone, 17, "15 20"},
		{"once", rules.CatchUpOnce, 17, "15 20"},
		{"all", rules.CatchUpAll, 17, "5 10 15 20"},
		{"the jitter of the last is not over", rules.CatchUpAll, 15, "5 10 15"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := everyFive(t, rules.OverlapSkip, c.catchUp)
			p.begin(minute(0), minute(0))
			p.late(minute(c.now))
			if got := p.todo(); got != c.want {
				t.Errorf("plans %s, want %s", got, c.want)
			}
		})
	}
}

func TestPlanOverlapped(t *testing.T) {
	cases := []struct {
		name    string
		overlap rules.Overlap
		now     int
		want    string
		skipped int
	}{
		{"no overlap", rules.OverlapSkip, 8, "10", 0},
		{"its start is not yet", rules.OverlapSkip, 10, "10", 0},
		{"skip one", rules.OverlapSkip, 11, "15", 1},
		{"skip all", rules.OverlapSkip, 22, "25", 3},
		{"queue one", rules.OverlapQueue, 12, "10 15", 0},
		{"queue the latest of several", rules.OverlapQueue, 22, "20 25", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := everyFive(t, c.overlap, rules.CatchUpOnce)
			p.begin(minute(0), minute(0))
			p.done(minute(5))
			skipped := p.overlapped(minute(c.now))
			if got := p.todo(); got != c.want || len(skipped) != c.skipped {
				t.Errorf("plans %s and skips %v, want %s and %d", got, skipped, c.want, c.skipped)
			}
		})
	}
}

func TestPlanGoesOnBeingLate(t *testing.T) {
	for catchUp, want := range map[rules.CatchUp]string{rules.CatchUpOnce: "20 25", rules.CatchUpAll: "5 10 15 20 25"} {
		p := everyFive(t, rules.OverlapSkip, catchUp)
		p.begin(minute(0), minute(0))
		p.late(minute(12))
		p.late(minute(22)) // nothing could be run in between
		if got := p.todo(); got != want {
			t.Errorf("%s: plans %s, want %s", catchUp, got, want)
		}
	}
}

func TestPlanMakesGoodBeforeItSkips(t *testing.T) {
	p := everyFive(t, rules.OverlapSkip, rules.CatchUpAll)
	p.begin(minute(0), minute(12)) // 5 and 10 are late
	p.done(minute(5))
	p.late(minute(17))
	if skipped := p.overlapped(minute(17)); skipped != nil || p.todo() != "10 15" {
		t.Errorf("skips %v, plans %s", skipped, p.todo())
	}
	p.done(minute(10))
	if skipped := p.overlapped(minute(17)); len(skipped) != 1 || p.todo() != "20" {
		t.Errorf("skips %v, plans %s", skipped, p.todo())
	}
}

func TestPlanDoneNeverGoesBack(t *testing.T) {
	p := everyFive(t, rules.OverlapSkip, rules.CatchUpOnce)
	p.begin(minute(0), minute(0))
	p.done(minute(20))
	p.done(minute(5))
	if got := p.due(); !got.Equal(minute(25)) {
		t.Errorf("next is %v", got)
	}
}
