package preview

import (
	"fmt"
	"time"

	"tallyman/rules/strictyaml"
)

// ParseAt reads the time that a run is tried for: RFC 3339, a local time of the zone, or a duration from now such as
// -1h. "" is now. Fractions of a second are dropped.
func ParseAt(text, zone string, now time.Time) (time.Time, error) {
	if text == "" {
		return now.UTC().Truncate(time.Second), nil
	}
	if d, err := strictyaml.ParseDuration(text); err == nil {
		return now.Add(d).UTC().Truncate(time.Second), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC().Truncate(time.Second), nil
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return time.Time{}, fmt.Errorf("the timezone %q: %w", zone, err)
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, location); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: write 2026-06-01T08:00:00+08:00, 2026-06-01 08:00 (in %s), or a duration before now such as -1h", text, zone)
}
