package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests do not depend on the machine's zones

	"tallyman/rules/schedule"
)

func TestParseRefuses(t *testing.T) {
	cases := []struct{ name, cron, zone, field, message, hint string }{
		{"empty", " ", "", "cron", "is empty", "*/5"},
		{"four fields", "* * * *", "", "cron", "has 4 fields", "6 with seconds first"},
		{"seven fields", "0 0 0 1 1 * 2027", "", "cron", "has 7 fields", ""},
		{"minute out of range", "60 * * * *", "", "cron", "above maximum", ""},
		{"sunday as 7", "0 0 * * 7", "", "cron", "above maximum", "SUN"},
		{"last day", "0 0 L * *", "", "cron", "failed to parse", "L, W and #"},
		{"unknown word", "@fortnightly", "", "cron", "unrecognized", "@hourly"},
		{"zone in the cron", "CRON_TZ=Europe/Berlin 0 0 * * *", "", "cron", "timezone", "schedule.timezone"},
		{"zone without cron", "TZ=UTC", "", "cron", "timezone", "schedule.timezone"},
		{"30 February", "0 0 30 2 *", "", "cron", "never fires", "no date"},
		{"31 of short months", "0 0 31 2,4,6,9,11 *", "", "cron", "never fires", ""},
		{"nothing but commas", ", * * * *", "", "cron", "never fires", ""},
		{"every without duration", "@every", "", "cron", "needs a duration", "30s"},
		{"every half second", "@every 500ms", "", "cron", "whole seconds", ""},
		{"every negative", "@every -5m", "", "cron", "whole seconds", ""},
		{"unknown zone", "* * * * *", "Europe/Atlantis", "timezone", "unknown timezone", "IANA"},
		{"the machine's zone", "* * * * *", "Local", "timezone", "differs", "name the zone"},
		{"too long", strings.Repeat("1,", 600) + "1 * * * *", "", "cron", "longer", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := schedule.Parse(c.cron, c.zone)
			var e *schedule.Error
			if !errors.As(err, &e) {
				t.Fatalf("Parse(%q) = %v, %v; want an *Error", c.cron, s, err)
			}
			if e.Field != c.field || !strings.Contains(e.Message, c.message) || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("got %q, message %q, hint %q", e.Field, e.Message, e.Hint)
			}
		})
	}
}

// TestHintsFitTheMistake: L, W and # are mistakes, and the letters of JUL and WED are not.
func TestHintsFitTheMistake(t *testing.T) {
	const unknown = "L, W and # are not known here"
	for cron, want := range map[string]string{
		"61 0 * JUL *": "", "61 0 * * WED": "", "0 25 * JAN-JUL MON,WED": "", "0 0 32 APR FRI": "",
		"0 0 L * *": unknown, "0 0 LW JUL *": unknown, "0 0 15W * *": unknown, "0 0 * * WED#2": unknown, "0 0 * * WEDL": unknown, "0 0 * * 5L": unknown,
	} {
		_, err := schedule.Parse(cron, "")
		var e *schedule.Error
		if !errors.As(err, &e) || e.Hint != want {
			t.Errorf("%s: %#v, want the hint %q", cron, err, want)
		}
	}
}

func TestShortest(t *testing.T) {
	cases := map[string]time.Duration{
		"* * * * *":            time.Minute,
		"* * * * * *":          time.Second,
		"*/5 5-22 * * 1-6":     5 * time.Minute,
		"0 8,20 * * *":         12 * time.Hour,
		"0 6,22 * * *":         8 * time.Hour, // over midnight
		"0 6,22 * * MON":       16 * time.Hour,
		"10,50 3 * * *":        40 * time.Minute,
		"50 3,4 * * *":         time.Hour,
		"0,50 3,4 * * *":       10 * time.Minute,
		"0,59 0 12 * * *":      59 * time.Second,
		"10,50 0,1 12 * * *":   20 * time.Second,
		"30 2 * * *":           24 * time.Hour, // not the 23 h of the day of a jump
		"0 0 * * MON,TUE":      24 * time.Hour,
		"0 0 1 * *":            28 * 24 * time.Hour,
		"@weekly":              7 * 24 * time.Hour,
		"0 0 29 2 *":           (4*365 + 1) * 24 * time.Hour,
		"@hourly":              time.Hour,
		"@every 90s":           90 * time.Second,
		"58-59 23 31 12 *":     time.Minute,
		"*/20 */7 * * *":       20 * time.Minute,
		"0 0 1,31 1,12 *":      24 * time.Hour,
		"30 15 10 1 1 ?":       365 * 24 * time.Hour,
		"0 12 13 * FRI":        24 * time.Hour, // a day or a weekday, whichever comes
		"15 30 2 * * *":        24 * time.Hour,
		"0 0 0 25 12 *":        365 * 24 * time.Hour,
		"30 59 23 * * *":       24 * time.Hour,
		"0 0,23 * * *":         time.Hour,
		"59 59 23,0 * * *":     time.Hour,
		"0,30 0,59 0,23 * * *": 30 * time.Second,
	}
	for cron, want := range cases {
		s, err := schedule.Parse(cron, "Europe/Berlin")
		if err != nil {
			t.Errorf("%s: %v", cron, err)
		} else if got := s.Shortest(); got != want {
			t.Errorf("%s: shortest %v, want %v", cron, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"*/5 5-22 * * 1-6", "0 30 2 * * *", "@every 30s", "@daily", "TZ=", "0 0 29 2 *", ",,,, * * * *"} {
		f.Add(s)
	}
	after := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, cron string) {
		s, err := schedule.Parse(cron, "Europe/Berlin")
		if err != nil {
			var e *schedule.Error
			if !errors.As(err, &e) || e.Message == "" {
				t.Fatalf("Parse(%q): %#v", cron, err)
			}
			return
		}
		if s.Shortest() <= 0 {
			t.Errorf("%q: shortest %v", cron, s.Shortest())
		}
		if next := s.Next(after); !next.After(after) {
			t.Errorf("%q: %v is not after %v", cron, next, after)
		}
	})
}
