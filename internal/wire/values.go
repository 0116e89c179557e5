package wire

import "time"

// Moment is the time in UTC; nil for the zero time, which forms leave out.
func Moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// NotNil returns the list, an empty one for nil: JSON says [] then, and not null.
func NotNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
