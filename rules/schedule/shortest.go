package schedule

import (
	"math/bits"
	"time"

	"github.com/robfig/cron/v3"
)

// calendarYears is a span that has every combination of leap day and weekday, also where it crosses a century without a
// leap year.
const calendarYears = 48

// shortest computes the shortest interval between two firings from the cron's bit sets. It lies between the closest two
// times of one day, or between the last time of a day and the first time of the next day that fits. shortest returns
// false for a cron that never fires.
func shortest(spec *cron.SpecSchedule) (time.Duration, bool) {
	days, ok := closestDays(spec)
	if !ok || mask(spec.Second, 60) == 0 || mask(spec.Minute, 60) == 0 || mask(spec.Hour, 24) == 0 {
		return 0, false
	}
	gap := days - (lastOf(spec) - firstOf(spec))
	if d, ok := closestBits(mask(spec.Second, 60), time.Second); ok {
		gap = min(gap, d)
	}
	// Between two minutes, the gap goes from the last second of one minute to the first second of the next. The same
	// holds for hours.
	seconds := span(mask(spec.Second, 60), time.Second)
	if d, ok := closestBits(mask(spec.Minute, 60), time.Minute); ok {
		gap = min(gap, d-seconds)
	}
	minutes := span(mask(spec.Minute, 60), time.Minute) + seconds
	if d, ok := closestBits(mask(spec.Hour, 24), time.Hour); ok {
		gap = min(gap, d-minutes)
	}
	return gap, true
}

// closestDays returns the shortest distance between two days that fit, and false where no day fits. Where only one day
// of the span fits, the distance is the whole span. closestDays tests each day itself, because the cron's own search
// takes ten times as long, and a rule file can have thousands of schedules.
func closestDays(spec *cron.SpecSchedule) (time.Duration, bool) {
	const day = 24 * time.Hour
	from := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	until := from.AddDate(calendarYears, 0, 0)
	closest := until.Sub(from)
	var previous time.Time
	for t := from; t.Before(until) && closest > day; t = t.Add(day) {
		if !fits(spec, t) {
			continue
		}
		if !previous.IsZero() {
			closest = min(closest, t.Sub(previous))
		}
		previous = t
	}
	return closest, !previous.IsZero()
}

// star is the bit that the cron parser sets in a field that takes every value.
const star = 1 << 63

// fits tells whether the cron fires on the day. Where both the day of the month and the weekday are given, one of the
// two is enough.
func fits(spec *cron.SpecSchedule, t time.Time) bool {
	_, month, date := t.Date()
	if spec.Month&(1<<month) == 0 {
		return false
	}
	dom, dow := spec.Dom&(1<<date) != 0, spec.Dow&(1<<t.Weekday()) != 0
	if (spec.Dom|spec.Dow)&star != 0 {
		return dom && dow
	}
	return dom || dow
}

func firstOf(spec *cron.SpecSchedule) time.Duration {
	return time.Duration(bits.TrailingZeros64(mask(spec.Hour, 24)))*time.Hour +
		time.Duration(bits.TrailingZeros64(mask(spec.Minute, 60)))*time.Minute +
		time.Duration(bits.TrailingZeros64(mask(spec.Second, 60)))*time.Second
}

func lastOf(spec *cron.SpecSchedule) time.Duration {
	return firstOf(spec) + span(mask(spec.Hour, 24), time.Hour) +
		span(mask(spec.Minute, 60), time.Minute) + span(mask(spec.Second, 60), time.Second)
}

// closestBits returns the shortest distance between two set bits, and false where fewer than two bits are set.
func closestBits(set uint64, unit time.Duration) (time.Duration, bool) {
	for d := 1; d < 64; d++ {
		if set&(set>>d) != 0 {
			return time.Duration(d) * unit, true
		}
	}
	return 0, false
}

// span is the distance from the lowest to the highest set bit.
func span(set uint64, unit time.Duration) time.Duration {
	return time.Duration(bits.Len64(set)-1-bits.TrailingZeros64(set)) * unit
}

// mask removes the parser's mark in the top bit (see star).
func mask(set uint64, n int) uint64 { return set & (1<<n - 1) }
