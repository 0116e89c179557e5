package silence

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func matchers(t testing.TB, texts ...string) []Matcher {
	t.Helper()
	var list []Matcher
	for _, text := range texts {
		m, err := ParseMatcher(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

func window(t testing.TB, cron, zone string, open time.Duration) *Window {
	t.Helper()
	w, err := NewWindow(cron, zone, open)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestStates(t *testing.T) {
	t.Parallel()
	s := Silence{ID: "s_1", Matchers: matchers(t, "rule=x"), From: noon, Until: noon.Add(time.Hour)}
	for after, want := range map[time.Duration]State{
		-time.Microsecond: Pending, 0: Active, time.Hour - time.Microsecond: Active, time.Hour: Expired, 2 * time.Hour: Expired,
	} {
		at := noon.Add(after)
		until, active := s.ActiveUntil(at)
		if got := s.State(at); got != want || active != (want == Active) || active && !until.Equal(s.Until) {
			t.Errorf("at %s: %s until %s, %v", after, got, until, active)
		}
		if next := s.Next(at); next.IsZero() == (want == Pending) {
			t.Errorf("at %s the next is %s", after, next)
		}
	}
	s.Ended = noon.Add(10 * time.Minute)
	if s.State(noon) != Active || s.State(s.Ended) != Expired {
		t.Error("one that was ended early")
	}
}

func TestWindows(t *testing.T) {
	t.Parallel()
	s := Silence{Matchers: matchers(t, "rule=x"), From: noon, Window: window(t, "0 22 * * *", "Asia/Shanghai", 8*time.Hour)}
	opens := time.Date(2026, 6, 1, 14, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		at   time.Time
		want State
	}{
		{noon.Add(-24 * time.Hour), Pending},
		{opens.Add(-1), Pending},
		{opens, Active},
		{opens.Add(8*time.Hour - 1), Active},
		{opens.Add(8 * time.Hour), Pending},
		{opens.Add(24 * time.Hour), Active},
	} {
		if got := s.State(c.at); got != c.want {
			t.Errorf("at %s: %s", c.at, got)
		}
	}
	if until, _ := s.ActiveUntil(opens); !until.Equal(opens.Add(8 * time.Hour)) {
		t.Errorf("until %s", until)
	}
	if next := s.Next(noon.Add(-24 * time.Hour)); !next.Equal(opens) {
		t.Errorf("next %s", next)
	}
	s.Until = opens.Add(2 * time.Hour) // in the middle of a window
	if until, _ := s.ActiveUntil(opens); !until.Equal(s.Until) || s.State(s.Until) != Expired || !s.Next(s.Until).IsZero() {
		t.Errorf("until %s", until)
	}
	s.From, s.Until = opens.Add(time.Hour), time.Time{}
	if s.State(opens) != Pending || s.State(s.From) != Active || !s.Next(opens).Equal(s.From) {
		t.Errorf("one that begins inside a window: next %s", s.Next(opens))
	}
}

// The windows follow the clocks of the warehouse: fixed times that a jump skips open at the jump, those that come twice the first time; a window
// is as long as a stopwatch shows.
func TestWindowsOverChangesOfTheClock(t *testing.T) {
	t.Parallel()
	berlin := func(text string) time.Time {
		zone, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, c := range []struct {
		cron, day    string
		open         time.Duration
		opens, shuts time.Time
	}{
		{"30 2 * * *", "2026-03-29 00:00", time.Hour, berlin("2026-03-29 03:00"), berlin("2026-03-29 04:00")},
		{"0 1 * * *", "2026-03-29 00:00", 3 * time.Hour, berlin("2026-03-29 01:00"), berlin("2026-03-29 05:00")},
		{"30 2 * * *", "2026-10-25 00:00", 2 * time.Hour, berlin("2026-10-25 01:30").Add(time.Hour), berlin("2026-10-25 03:30")},
		{"0 1 * * *", "2026-10-25 00:00", 3 * time.Hour, berlin("2026-10-25 01:00"), berlin("2026-10-25 03:00")},
		// The second of these opens half an hour after the first, where the clock jumps: the window is one.
		{"30 1,2 * * *", "2026-03-29 00:00", 45 * time.Minute, berlin("2026-03-29 01:30"), berlin("2026-03-29 03:45")},
	} {
		s := Silence{From: berlin(c.day), Window: window(t, c.cron, "Europe/Berlin", c.open)}
		opens := s.Next(s.From)
		until, active := s.ActiveUntil(c.opens)
		if !opens.Equal(c.opens) || !active || !until.Equal(c.shuts) {
			t.Errorf("%s on %s opens %s until %s, want %s until %s", c.cron, c.day, opens, until, c.opens, c.shuts)
		}
		if s.State(c.opens.Add(-1)) == Active || s.State(c.shuts.Add(-1)) != Active || s.State(c.shuts) == Active {
			t.Errorf("%s on %s: it is not active from %s until %s", c.cron, c.day, c.opens, c.shuts)
		}
	}
}

func TestBadSilences(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*Silence){
		"matchers: there is no matcher":        func(s *Silence) { s.Matchers = nil },
		"matchers: there are more than":        func(s *Silence) { s.Matchers = make([]Matcher, mostMatchers+1) },
		"matchers: every matcher also matches": func(s *Silence) { s.Matchers = matchers(t, "rule=~.*", "area!=x", "scope=") },
		"until: is missing":                    func(s *Silence) { s.Until = time.Time{} },
		"until: is not after from":             func(s *Silence) { s.Until = s.From },
		"until: has passed":                    func(s *Silence) { s.From, s.Until = noon.Add(-2*time.Hour), noon.Add(-time.Hour) },
		"comment: is longer":                   func(s *Silence) { s.Comment = strings.Repeat("x", longestText+1) },
		"comment: is not valid text":           func(s *Silence) { s.Comment = "\xff" },
		"author: is longer":                    func(s *Silence) { s.Author = strings.Repeat("x", longestText+1) },
	} {
		s := Silence{Matchers: matchers(t, "rule=x", "area=~.*"), From: noon, Until: noon.Add(time.Hour)}
		if err := s.Check(noon); err != nil {
			t.Fatal(err)
		}
		change(&s)
		if err := s.Check(noon); err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	for range 100 { // of several faults always the same is told
		s := Silence{Matchers: matchers(t, "rule=x"), From: noon, Until: noon.Add(time.Hour), Comment: "\xff", Author: "\xff"}
		if err := s.Check(noon); err == nil || !strings.HasPrefix(err.Error(), "comment: ") {
			t.Fatal(err)
		}
	}
	for want, c := range map[string]struct {
		cron, zone string
		open       time.Duration
	}{
		"window.cron: ":                      {"0 25 * * *", "UTC", time.Hour},
		"window.cron: \"0 0 31 2 *\" never":  {"0 0 31 2 *", "UTC", time.Hour},
		"window.timezone: unknown":           {"0 22 * * *", "Mars/Olympus", time.Hour},
		"window.duration: is not between":    {"0 22 * * *", "UTC", time.Second},
		"window.duration: is not shorter":    {"0 * * * *", "UTC", time.Hour},
		"window.duration: is not between 1m": {"0 22 1 1 *", "UTC", 32 * 24 * time.Hour},
	} {
		_, err := NewWindow(c.cron, c.zone, c.open)
		if fault, ok := errors.AsType[*Error](err); !ok || !strings.HasPrefix(fault.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Whatever the window: what Next and ActiveUntil foresee is what State says, minute by minute.
func TestWindowsAreWhatTheyForesee(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cron := rapid.SampledFrom([]string{"0 22 * * *", "30 2 * * *", "0 */6 * * *", "15 1,2,3 * * *", "@every 2h"}).Draw(t, "cron")
		zone := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "Asia/Shanghai", "Australia/Lord_Howe"}).Draw(t, "zone")
		w, err := NewWindow(cron, zone, time.Duration(rapid.IntRange(1, 59).Draw(t, "open"))*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		day := rapid.SampledFrom([]time.Time{
			time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC), time.Date(2026, 4, 4, 4, 0, 0, 0, time.UTC),
		}).Draw(t, "day")
		s := Silence{From: day.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "from")) * time.Minute), Window: w}
		if rapid.Bool().Draw(t, "ends") {
			s.Until = s.From.Add(time.Duration(rapid.IntRange(1, 900).Draw(t, "until")) * time.Minute)
		}
		next, until := s.Next(day.Add(-time.Second)), time.Time{}
		for at := day; at.Before(day.Add(30 * time.Hour)); at = at.Add(time.Minute) {
			ends, active := s.ActiveUntil(at)
			begins := !next.IsZero() && !at.Before(next)
			switch {
			case active && until.IsZero() && !begins:
				t.Fatalf("active at %s, but the next was to be at %s", at, next)
			case active && until.IsZero():
				until = ends
			case active && !ends.Equal(until) || active && !at.Before(until):
				t.Fatalf("at %s active until %s, before until %s", at, ends, until)
			case !active && !until.IsZero() && at.Before(until):
				t.Fatalf("at %s not active, but it was to be until %s", at, until)
			case !active && until.IsZero() && begins:
				t.Fatalf("at %s not active, but it was to be from %s", at, next)
			}
			if !active {
				next, until = s.Next(at), time.Time{}
			}
		}
	})
}

func TestHolding(t *testing.T) {
	t.Parallel()
	var set Set
	if got := set.Holding(noon, &bin); got != nil {
		t.Errorf("%+v", got)
	}
	set.Replace([]Silence{
		{ID: "s_short", Matchers: matchers(t, "rule=~neg.*"), From: noon, Until: noon.Add(time.Hour), Comment: "one"},
		{ID: "s_long", Matchers: matchers(t, "warehouse=119240", "area!=inbound"), From: noon, Until: noon.Add(2 * time.Hour)},
		{ID: "s_other", Matchers: matchers(t, "warehouse=119240", "area=inbound"), From: noon, Until: noon.Add(3 * time.Hour)},
		{ID: "s_later", Matchers: matchers(t, "warehouse=119240"), From: noon.Add(time.Hour), Until: noon.Add(3 * time.Hour)},
	})
	got := set.Holding(noon, &bin)
	if len(got) != 2 || got[0].ID != "s_long" || got[1] != (Holding{"s_short", noon.Add(time.Hour), "one"}) {
		t.Errorf("%+v", got)
	}
}

// A list that was read before a change never replaces a list that was read after it.
func TestAnOlderReadingDoesNotCount(t *testing.T) {
	t.Parallel()
	var set Set
	var changes atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				var mine int64
				err := set.Refresh(func() ([]Silence, error) {
					mine = changes.Add(1)
					runtime.Gosched()
					return []Silence{{Events: mine}}, nil
				})
				runtime.Gosched()
				if now := (*set.list.Load())[0].Events; err != nil || now < mine {
					t.Errorf("after change %d the list is that of change %d, %v", mine, now, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := set.Refresh(func() ([]Silence, error) { return nil, errors.New("away") }); err == nil || len(*set.list.Load()) != 1 {
		t.Errorf("%v, and the list is gone", err)
	}
}
