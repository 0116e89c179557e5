package schedule

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Error is a schedule that cannot be used. Field is "cron" or "timezone".
type Error struct {
	Field   string
	Message string
	Hint    string // the way out; may be empty
}

// Error names the field and the fault.
func (e *Error) Error() string { return e.Field + ": " + e.Message }

// maxLength bounds a cron text; the longest sensible one is far below it.
const maxLength = 1000

// Parse reads a cron of 5 fields, of 6 with seconds first, or one of @every, @hourly, @daily, @weekly,
// @monthly, @yearly, in an IANA timezone ("" is UTC). The error is an *Error.
func Parse(text, timezone string) (*Schedule, error) {
	zone, err := loadZone(timezone)
	if err != nil {
		return nil, err
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return nil, &Error{"cron", "is empty", `for example "*/5 * * * *"`}
	case len(text) > maxLength:
		return nil, &Error{"cron", fmt.Sprintf("is longer than %d characters", maxLength), ""}
	case strings.HasPrefix(text, "CRON_TZ=") || strings.HasPrefix(text, "TZ="):
		return nil, &Error{"cron", "carries a timezone", "put the timezone in schedule.timezone"}
	case strings.HasPrefix(text, "@every"):
		return parseEvery(text, zone)
	}
	return parseCron(text, zone)
}

func loadZone(name string) (*time.Location, error) {
	if strings.EqualFold(name, "local") {
		return nil, &Error{"timezone", "Local differs from machine to machine", "name the zone, for example Europe/Berlin"}
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, &Error{"timezone", fmt.Sprintf("unknown timezone %q", name), "an IANA name such as Europe/Berlin or UTC"}
	}
	return zone, nil
}

func parseEvery(text string, zone *time.Location) (*Schedule, error) {
	arg := strings.TrimSpace(strings.TrimPrefix(text, "@every"))
	every, err := time.ParseDuration(arg)
	if err != nil {
		return nil, &Error{"cron", fmt.Sprintf("@every needs a duration, not %q", arg), "for example @every 30s"}
	}
	if every < time.Second || every%time.Second != 0 {
		return nil, &Error{"cron", "@every needs whole seconds, at least one", "for example @every 30s"}
	}
	return &Schedule{zone: zone, every: every, shortest: every}, nil
}

func parseCron(text string, zone *time.Location) (*Schedule, error) {
	if !strings.HasPrefix(text, "@") {
		if n := len(strings.Fields(text)); n != 5 && n != 6 {
			return nil, &Error{
				"cron", fmt.Sprintf("has %d fields", n),
				"5 fields (minute hour day month weekday), or 6 with seconds first",
			}
		}
	}
	parser := cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)
	parsed, err := parser.Parse(text)
	if err != nil {
		return nil, &Error{"cron", err.Error(), cronHint(text)}
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, &Error{"cron", fmt.Sprintf("cannot use %q", text), ""}
	}
	spec.Location = time.UTC // it is asked about local times written as UTC; see Schedule.Next
	s := &Schedule{zone: zone, spec: spec, ticks: ticks(text)}
	if s.shortest, ok = shortest(spec); !ok {
		return nil, &Error{"cron", fmt.Sprintf("%q never fires", text), "no date has that day, month and weekday"}
	}
	return s, nil
}

// ticks tells whether the minute or the hour field begins with a star.
func ticks(text string) bool {
	if strings.HasPrefix(text, "@") {
		return text == "@hourly"
	}
	fields := strings.Fields(text)
	if len(fields) == 6 {
		fields = fields[1:]
	}
	return strings.ContainsAny(fields[0][:1]+fields[1][:1], "*?")
}

// cronHint knows the mistakes that people bring along from other crons.
func cronHint(text string) string {
	if strings.HasPrefix(text, "@") {
		return "one of @every 30s, @hourly, @daily, @weekly, @monthly, @yearly"
	}
	fields := strings.Fields(text)
	if strings.Contains(fields[len(fields)-1], "7") {
		return "weekdays are 0 (Sunday) to 6, or SUN to SAT"
	}
	if strings.ContainsAny(text, "LW#") {
		return "L, W and # are not known here"
	}
	return ""
}
