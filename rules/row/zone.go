package row

import (
	"fmt"
	"time"
)

// ParseZone reads a time zone: a name of the time zone database, or an offset such as +08:00.
func ParseZone(text string) (*time.Location, error) {
	if t, err := time.Parse("-07:00", text); err == nil {
		_, seconds := t.Zone()
		return time.FixedZone(text, seconds), nil
	}
	location, err := time.LoadLocation(text)
	if err != nil || text == "" || text == "Local" {
		return nil, fmt.Errorf("the timezone %q is not known", text)
	}
	return location, nil
}

// At returns the instant at which a clock in place shows the same date and time as t.
func At(t time.Time, place *time.Location) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), place)
}
