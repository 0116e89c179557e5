package scanners

import (
	"errors"
	"regexp"
	"time"

	"tallyman/rules/row"
)

// ParseZone reads the time zone of a source: an IANA name, or an offset such as +08:00.
func ParseZone(text string) (*time.Location, error) { return row.ParseZone(text) }

// Zone returns Location, or UTC if it is not set.
func (c *Config) Zone() *time.Location {
	if c.Location == nil {
		return time.UTC
	}
	return c.Location
}

// zoneOption matches a time zone in the URL of a source, or in a keyword/value string.
var zoneOption = regexp.MustCompile(`(?i)[?&\s]timezone=`)

// CheckURL refuses a time zone in the URL, because the source has a setting for it. The error does not show the URL.
func (c *Config) CheckURL() error {
	if !zoneOption.MatchString(c.URL) {
		return nil
	}
	return &Error{
		Code: CodeUnreachable, Hint: "write timezone: Asia/Shanghai, or an offset as \"+08:00\", beside the source's url",
		Err: errors.New("the URL of the source has the option timezone, which is a setting of the source"),
	}
}

// ServerTime returns a server's time in its zone. zone is the server's name of the zone, and ahead is the zone's
// present offset to UTC in seconds.
func ServerTime(t time.Time, zone string, ahead int) time.Time {
	if location, err := row.ParseZone(zone); err == nil {
		if _, offset := t.In(location).Zone(); offset == ahead {
			return t.In(location)
		}
	}
	return t.In(time.FixedZone(zone, ahead))
}
