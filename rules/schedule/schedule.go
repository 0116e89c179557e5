package schedule

import (
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule is a parsed cron in its timezone. It is immutable and safe for concurrent use.
type Schedule struct {
	zone     *time.Location
	every    time.Duration      // of @every; otherwise 0
	spec     *cron.SpecSchedule // nil for @every
	ticks    bool               // no special handling of clock changes
	shortest time.Duration
}

// Shortest returns the shortest interval between two firings as the wall clock shows it: the hour that a
// clock change takes or adds does not count.
func (s *Schedule) Shortest() time.Duration { return s.shortest }

// Next returns the first firing later than after, in the schedule's timezone.
//
// It walks over the periods between two changes of the clock. Inside a period local time is a constant
// offset away, so the cron can be asked about local times written as UTC ("wall" below), where no
// hour is missing and none comes twice.
func (s *Schedule) Next(after time.Time) time.Time {
	if s.spec == nil {
		return s.nextEvery(after).In(s.zone)
	}
	after = after.In(s.zone)
	from := wall(after, offset(after)) // firings later than this wall time are candidates
	for period := after; ; {
		start, end := period.ZoneBounds()
		off := offset(period)
		if !s.ticks && !start.IsZero() {
			if firstSeen := wall(start, offset(start.Add(-1))).Add(-1); from.Before(firstSeen) {
				from = firstSeen // the clock went back at start: earlier wall times were shown before
			}
		}
		next := s.nextWall(from)
		instant := next.Add(-off)
		if end.IsZero() || instant.Before(end) {
			return instant.In(s.zone)
		}
		resume := wall(end, offset(end))
		if !s.ticks && next.Before(resume) {
			return end // the clock jumped over it
		}
		period, from = end, resume.Add(-1)
	}
}

// nextEvery returns the next multiple of the duration since 1970.
func (s *Schedule) nextEvery(after time.Time) time.Time {
	every := int64(s.every / time.Second)
	n := after.Unix() / every
	if after.Unix()%every < 0 {
		n-- // before 1970, division rounds towards it
	}
	return time.Unix((n+1)*every, 0)
}

// nextWall asks the cron. It gives up after five years, which is too early for a 29 February around 2100
// and for one that has to be a certain weekday.
func (s *Schedule) nextWall(from time.Time) time.Time {
	for {
		if next := s.spec.Next(from); !next.IsZero() {
			return next
		}
		from = from.AddDate(4, 0, 0)
	}
}

// wall writes the local time of t as UTC.
func wall(t time.Time, offset time.Duration) time.Time { return t.UTC().Add(offset) }

func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}
