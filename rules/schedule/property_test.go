package schedule_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tallyman/rules/schedule"
)

var zones = []string{
	"Europe/Berlin", "America/New_York", "Asia/Shanghai", "Australia/Lord_Howe",
	"Africa/Cairo", "Africa/Casablanca", "America/Santiago", "UTC",
}

// anyTime is an instant between 2020 and 2030, often close to a change of the clock in zone.
func anyTime(zone *time.Location) *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		at := time.Unix(rapid.Int64Range(1577836800, 1893456000).Draw(t, "at"), 0).In(zone)
		if _, end := at.ZoneBounds(); !end.IsZero() && rapid.Bool().Draw(t, "at a change") {
			at = end.Add(time.Duration(rapid.IntRange(-4*3600, 4*3600).Draw(t, "offset")) * time.Second)
		}
		return at
	})
}

func TestFixedTimeOncePerLocalDay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone, _ := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		minute, hour := rapid.IntRange(0, 59).Draw(t, "minute"), rapid.IntRange(0, 23).Draw(t, "hour")
		s, err := schedule.Parse(fmt.Sprintf("%d %d * * *", minute, hour), zone.String())
		if err != nil {
			t.Fatal(err)
		}
		at := s.Next(anyTime(zone).Draw(t, "from"))
		for range 4 {
			next := s.Next(at)
			if want := at.AddDate(0, 0, 1); next.Format(time.DateOnly) != time.Date(want.Year(), want.Month(), want.Day(), 12, 0, 0, 0, zone).Format(time.DateOnly) {
				t.Fatalf("%v is followed by %v: not one a day", at, next)
			}
			if shown := next.Hour()*60 + next.Minute(); shown != hour*60+minute {
				start, _ := next.ZoneBounds()
				if !start.Equal(next) || shown < hour*60+minute {
					t.Fatalf("%v is neither %02d:%02d nor a jump over it", next, hour, minute)
				}
			}
			at = next
		}
	})
}

// TestNextIsTheFirst compares Next with a walk over every minute, judged by the definition.
func TestNextIsTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone, _ := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		minutes := rapid.SliceOfNDistinct(rapid.IntRange(0, 59), 1, 3, rapid.ID).Draw(t, "minutes")
		hours := rapid.SliceOfNDistinct(rapid.IntRange(0, 4), 1, 3, rapid.ID).Draw(t, "hours")
		star := rapid.Bool().Draw(t, "ticks")
		cron := list(minutes) + " " + list(hours) + " * * *"
		if star {
			cron = list(minutes) + " */1 * * *"
		}
		s, err := schedule.Parse(cron, zone.String())
		if err != nil {
			t.Fatal(err)
		}
		fits := func(w time.Time) bool {
			return slices.Contains(minutes, w.Minute()) && (star || slices.Contains(hours, w.Hour()))
		}
		from := anyTime(zone).Draw(t, "from").Truncate(time.Minute)
		at := from
		for m := 1; m <= 30*60; m++ {
			now := from.Add(time.Duration(m) * time.Minute)
			if !fires(now, fits, star) {
				continue
			}
			if at = s.Next(at); !at.Equal(now) {
				t.Fatalf("%s: Next is %v, want %v", cron, at, now)
			}
		}
	})
}

// fires is the definition: now shows a fitting time for the first time, or the clock has just jumped over one.
func fires(now time.Time, fits func(time.Time) bool, ticks bool) bool {
	before := now.Add(-time.Minute)
	_, offNow := now.Zone()
	_, offBefore := before.Zone()
	if ticks {
		return fits(now)
	}
	for skipped := 0; skipped < offNow-offBefore; skipped += 60 {
		if fits(before.UTC().Add(time.Duration(offBefore+60+skipped) * time.Second)) {
			return true
		}
	}
	if !fits(now) {
		return false
	}
	shown := now.Format("2006-01-02 15:04")
	for back := 1; back <= 180; back++ {
		if now.Add(-time.Duration(back)*time.Minute).Format("2006-01-02 15:04") == shown {
			return false
		}
	}
	return true
}

func list(ns []int) string {
	text := ""
	for i, n := range ns {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprint(n)
	}
	return text
}

func TestMissed(t *testing.T) {
	s := mustParse(t, "*/5 * * * *", "Asia/Shanghai")
	from := mustTime(t, "2026-06-01T00:00:00Z")
	if got := s.Missed(from, from.Add(4*time.Minute), 10); len(got) != 0 {
		t.Errorf("nothing was due, got %v", got)
	}
	got := s.Missed(from, from.Add(15*time.Minute), 10)
	if len(got) != 3 || !got[0].Equal(from.Add(5*time.Minute)) || !got[2].Equal(from.Add(15*time.Minute)) {
		t.Errorf("got %v", got)
	}
	year := s.Missed(from, from.AddDate(1, 0, 0), 100)
	if len(year) != 100 || !year[99].Equal(from.AddDate(1, 0, 0)) || !year[0].Equal(from.AddDate(1, 0, 0).Add(-99*5*time.Minute)) {
		t.Errorf("want the latest 100, got %d, the last %v", len(year), year[len(year)-1])
	}
	if got := s.Missed(from, from.AddDate(1, 0, 0), 0); got != nil {
		t.Errorf("limit 0 gave %v", got)
	}
	leap := mustParse(t, "0 0 29 2 *", "UTC")
	if got := leap.Missed(mustTime(t, "1999-01-01T00:00:00Z"), from, 100); len(got) != 7 {
		t.Errorf("leap days 2000 … 2024: %v", got)
	}
}

func TestMissedAgreesWithNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone, _ := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		cron := rapid.SampledFrom([]string{"*/5 5-22 * * 1-6", "30 2 * * *", "@every 17m", "0 0 1 * *", "10,50 1,2 * * SUN"}).Draw(t, "cron")
		s, err := schedule.Parse(cron, zone.String())
		if err != nil {
			t.Fatal(err)
		}
		from := anyTime(zone).Draw(t, "from")
		until := from.Add(time.Duration(rapid.IntRange(0, 30*24*3600).Draw(t, "span")) * time.Second)
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		var all []time.Time
		for at := s.Next(from); !at.After(until); at = s.Next(at) {
			all = append(all, at)
		}
		if len(all) > limit {
			all = all[len(all)-limit:]
		}
		if got := s.Missed(from, until, limit); !slices.EqualFunc(got, all, time.Time.Equal) {
			t.Fatalf("got %v, want %v", got, all)
		}
	})
}

func TestJitterIsStableAndSpread(t *testing.T) {
	if got := schedule.Jitter("r", "s", 0); got != 0 {
		t.Errorf("no jitter gave %v", got)
	}
	if a, b := schedule.Jitter("negative-bin-stock", "119240", 20*time.Second), schedule.Jitter("negative-bin-stock", "119240", 20*time.Second); a != b {
		t.Errorf("%v and %v", a, b)
	}
	buckets := make([]int, 10)
	for i := range 1000 {
		j := schedule.Jitter("negative-bin-stock", fmt.Sprint(i), 10*time.Second)
		if j < 0 || j >= 10*time.Second {
			t.Fatalf("%v is out of range", j)
		}
		buckets[j/time.Second]++
	}
	for second, n := range buckets {
		if n < 50 || n > 150 {
			t.Errorf("second %d has %d of 1000 rules", second, n)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	s := mustParse(b, "*/5 5-22 * * 1-6", "Europe/Berlin")
	at := mustTime(b, "2026-01-01T00:00:00Z")
	for b.Loop() {
		at = s.Next(at)
	}
}
