package schedule

import (
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule is a parsed cron in its timezone. It is immutable and safe for concurrent use.
type Schedule struct {
	zone     *time.Location
	every    time.Duration      // The duration of @every, else 0.
	spec     *cron.SpecSchedule // nil for @every.
	ticks    bool               // Changes of the clock need no special handling.
	shortest time.Duration
}

// Shortest returns the shortest interval between two firings on the wall clock. It ignores the hour that a change of
// the clock takes or adds.
func (s *Schedule) Shortest() time.Duration { return s.shortest }

// Next returns the first firing later than after, in the schedule's timezone.
//
// Next walks over the periods between two changes of the clock. Inside a period, local time has a constant offset. So
// Next can ask the cron about local times that are written as UTC ("wall" below). In UTC no hour is missing, and no
// hour comes twice.
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
			return end // the clock jumped over next
		}
		period, from = end, resume.Add(-1)
	}
}

// nextEvery returns the next multiple of the duration since 1970.
func (s *Schedule) nextEvery(after time.Time) time.Time {
	every := int64(s.every / time.Second)
	n := after.Unix() / every
	if after.Unix()%every < 0 {
		n-- // before 1970 the division rounds up
	}
	return time.Unix((n+1)*every, 0)
}

// nextWall returns the cron's next time on the wall clock. It asks the cron again and again, because the library gives
// up after five years. That is too early for a 29 February around 2100, or for one on a certain weekday.
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

// mostDefaultJitter bounds DefaultJitter: nobody who reads a cron expects more.
const mostDefaultJitter = 30 * time.Second

// DefaultJitter returns the jitter of rules that set none: a tenth of the shortest interval, at most 30 s. Sites write
// the same cron for hundreds of rules. Without jitter all of them would query the databases at the same instant.
func DefaultJitter(s *Schedule) time.Duration { return min(s.shortest/10, mostDefaultJitter) }

// Jitter returns how long a rule waits in a scope after each due time. It is from 0 to below limit, in whole
// milliseconds. The same rule and scope get the same jitter on every node.
func Jitter(rule, scope string, limit time.Duration) time.Duration {
	steps := uint64(max(limit, 0) / time.Millisecond)
	if steps == 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, rule+"\x00"+scope)                   // writing to a hash never fails
	return time.Duration(mix(h.Sum64())%steps) * time.Millisecond //nolint:gosec // below limit
}

// mix spreads a hash over all bits. FNV alone gives close values to names that differ only in the last letter.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// Missed returns the firings later than after and not later than until, oldest first. Where there are more than limit
// firings, it returns the latest ones.
func (s *Schedule) Missed(after, until time.Time, limit int) []time.Time {
	if limit <= 0 {
		return nil
	}
	// The search looks back from the end. A schedule of seconds then costs no more after a week than a schedule of
	// days.
	for back := s.shortest * time.Duration(limit); ; back *= 2 {
		from := until.Add(-back)
		// back <= 0 means that the product has overflowed. The search then looks at the whole span.
		whole := back <= 0 || !from.After(after)
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

// Error is a schedule that cannot be used. Field is "cron" or "timezone".
type Error struct {
	Field   string
	Message string
	Hint    string // What to do. It may be empty.
}

// Error names the field and the fault.
func (e *Error) Error() string { return e.Field + ": " + e.Message }

// maxLength is the maximum length of a cron, in bytes. Every sensible cron is far shorter.
const maxLength = 1000

// Parse reads a cron in an IANA timezone. The empty timezone means UTC. The cron has 5 fields, or 6 with seconds first,
// or is one of @every, @hourly, @daily, @weekly, @monthly and @yearly. The error is an *Error.
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
	spec.Location = time.UTC // Schedule.Next asks about local times that are written as UTC
	s := &Schedule{zone: zone, spec: spec, ticks: ticks(text)}
	if s.shortest, ok = shortest(spec); !ok {
		return nil, &Error{"cron", fmt.Sprintf("%q never fires", text), "no date has that day, month and weekday"}
	}
	return s, nil
}

// ticks tells whether the minute or the hour field begins with * or ?, which mean the same. @hourly ticks as well.
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

// cronHint returns a hint for common mistakes, which come from the crons of other systems.
func cronHint(text string) string {
	if strings.HasPrefix(text, "@") {
		return "one of @every 30s, @hourly, @daily, @weekly, @monthly, @yearly"
	}
	fields := strings.Fields(text)
	if strings.Contains(fields[len(fields)-1], "7") {
		return "weekdays are 0 (Sunday) to 6, or SUN to SAT"
	}
	if strings.ContainsAny(strings.NewReplacer("JUL", "", "WED", "").Replace(text), "LW#") {
		return "L, W and # are not known here"
	}
	return ""
}
