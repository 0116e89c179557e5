package schedule

import "time"

// Missed returns the firings later than after and not later than until, oldest first: the latest limit of
// them where there are more.
func (s *Schedule) Missed(after, until time.Time, limit int) []time.Time {
	if limit <= 0 {
		return nil
	}
	// Look back from the end, so that a schedule of seconds after a week costs no more than one of days.
	for back := s.shortest * time.Duration(limit); ; back *= 2 {
		from := until.Add(-back)
		whole := back <= 0 || !from.After(after) // a back that overflowed is a longer look than any span, or a shorter first one
		if whole {
			from = after
		}
		if due := s.between(from, until, limit); len(due) == limit || whole {
			return due
		}
	}
}

// between returns the latest limit firings in (from, until].
func (s *Schedule) between(from, until time.Time, limit int) []time.Time {
	var due []time.Time
	for t := s.Next(from); !t.After(until); t = s.Next(t) {
		if len(due) == limit {
			copy(due, due[1:])
			due = due[:limit-1]
		}
		due = append(due, t)
	}
	return due
}
