package strictyaml

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "90s": 90 * time.Second, "1.5h": 90 * time.Minute, "1d12h": 36 * time.Hour, "2h30m15s": 2*time.Hour + 30*time.Minute + 15*time.Second,
		"0.25s": 250 * time.Millisecond, "-1h": -time.Hour, "365d": 365 * 24 * time.Hour,
	} {
		if got, err := ParseDuration(s); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "-", "5", "m", "5ms", "5M", "1h1h", "1m1h", "1h 5m", "+5m", "1e3s", ".5h", "5.h", "1000000000000000d", "999999999h", "٣s"} {
		if got, err := ParseDuration(s); err == nil {
			t.Errorf("%q gives %v", s, got)
		}
	}
}

func TestFormatDurationReadsBack(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 72 * time.Hour: "72h", 90 * time.Minute: "1h30m", 1500 * time.Millisecond: "1.5s", -time.Hour: "-1h"} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(-1e15, 1e15).Draw(t, "ms")/1000) * time.Microsecond
		got, err := ParseDuration(FormatDuration(d))
		if err != nil || got != d {
			t.Fatalf("%v: %s, %v, %v", d, FormatDuration(d), got, err)
		}
	})
}
