package schedule_test

import (
	"slices"
	"testing"
	"time"

	"tallyman/rules/schedule"
)

// TestClockChanges lists the firings, in UTC, around each change of the clock.
func TestClockChanges(t *testing.T) {
	cases := []struct {
		name, zone, cron, from string
		want                   []string
	}{
		// Berlin: 2026-03-29 02:00 → 03:00 (01:00Z), 2026-10-25 03:00 → 02:00 (01:00Z)
		{
			"skipped", "Europe/Berlin", "30 2 * * *", "2026-03-28T00:00:00Z",
			[]string{"2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		},
		{
			"skipped thrice, fires once", "Europe/Berlin", "0,20,40 2 * * *", "2026-03-29T00:00:00Z",
			[]string{"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"},
		},
		{
			"skipped, and the instant of the jump is a time of its own", "Europe/Berlin", "30 2,3 * * *", "2026-03-29T00:00:00Z",
			[]string{"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"},
		},
		{
			"at the jump", "Europe/Berlin", "0 2,3 * * *", "2026-03-29T00:00:00Z",
			[]string{"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"},
		},
		{
			"skipped, seconds", "Europe/Berlin", "*/10 30 2 * * *", "2026-03-29T00:59:59Z",
			[]string{"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z", "2026-03-30T00:30:10Z"},
		},
		{
			"no firing on that weekday, none after the jump", "Europe/Berlin", "30 2 * * MON", "2026-03-28T00:00:00Z",
			[]string{"2026-03-30T00:30:00Z"},
		},
		{
			"repeated", "Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		},
		{
			"asked in the repeated hour", "Europe/Berlin", "15,45 2 * * *", "2026-10-25T01:20:00Z",
			[]string{"2026-10-26T01:15:00Z"},
		},
		{
			"three o'clock after the repetition", "Europe/Berlin", "0 2,3 * * *", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z", "2026-10-26T01:00:00Z"},
		},
		{
			"ticks through the jump", "Europe/Berlin", "*/30 * * * *", "2026-03-29T00:00:00Z",
			[]string{"2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"},
		},
		{
			"ticks in the hour that is not there", "Europe/Berlin", "*/30 2 * * *", "2026-03-28T12:00:00Z",
			[]string{"2026-03-30T00:00:00Z", "2026-03-30T00:30:00Z"},
		},
		{
			"ticks twice", "Europe/Berlin", "30 * * * *", "2026-10-25T00:00:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"},
		},
		{
			"@hourly ticks", "Europe/Berlin", "@hourly", "2026-10-25T00:00:00Z",
			[]string{"2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"},
		},
		// New York: 2026-03-08 02:00 → 03:00 (07:00Z), 2026-11-01 02:00 → 01:00 (06:00Z)
		{
			"skipped", "America/New_York", "15 2 * * *", "2026-03-07T12:00:00Z",
			[]string{"2026-03-08T07:00:00Z", "2026-03-09T06:15:00Z"},
		},
		{
			"repeated", "America/New_York", "0 1 * * *", "2026-10-31T12:00:00Z",
			[]string{"2026-11-01T05:00:00Z", "2026-11-02T06:00:00Z"},
		},
		{
			"@daily", "America/New_York", "@daily", "2026-11-01T00:00:00Z",
			[]string{"2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},
		},
		// Shanghai keeps its clock since 1991; in 1991 it still changed, on 14 April at 02:00
		{
			"nothing changes", "Asia/Shanghai", "30 2 * * *", "2026-03-28T00:00:00Z",
			[]string{"2026-03-28T18:30:00Z", "2026-03-29T18:30:00Z"},
		},
		{
			"once it did", "Asia/Shanghai", "30 2 * * *", "1991-04-13T00:00:00Z",
			[]string{"1991-04-13T18:00:00Z", "1991-04-14T17:30:00Z"},
		},
		// Lord Howe moves by half an hour: 2026-10-04 02:00 → 02:30 (10-03 15:30Z), 2026-04-05 02:00 → 01:30 (04-04
		// 15:00Z)
		{
			"skipped", "Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00:00Z",
			[]string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"},
		},
		{
			"not skipped", "Australia/Lord_Howe", "45 2 * * *", "2026-10-03T00:00:00Z",
			[]string{"2026-10-03T15:45:00Z", "2026-10-04T15:45:00Z"},
		},
		{
			"repeated", "Australia/Lord_Howe", "45 1 * * *", "2026-04-04T00:00:00Z",
			[]string{"2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"},
		},
		{
			"ticks through half an hour", "Australia/Lord_Howe", "0 * * * *", "2026-10-03T14:00:00Z",
			[]string{"2026-10-03T14:30:00Z", "2026-10-03T16:00:00Z"},
		},
		{
			"half past comes twice", "Australia/Lord_Howe", "*/30 1 * * *", "2026-04-04T13:50:00Z",
			[]string{"2026-04-04T14:00:00Z", "2026-04-04T14:30:00Z", "2026-04-04T15:00:00Z", "2026-04-05T14:30:00Z"},
		},
		// Samoa left out 2011-12-30
		{
			"a day that was not", "Pacific/Apia", "0 12 * * *", "2011-12-29T23:00:00Z",
			[]string{"2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"},
		},
		// Cairo changes at midnight: 2026-04-24 00:00 → 01:00 (04-23 22:00Z)
		{
			"midnight is skipped", "Africa/Cairo", "0 0 * * *", "2026-04-23T00:00:00Z",
			[]string{"2026-04-23T22:00:00Z", "2026-04-24T21:00:00Z"},
		},
		{
			"@every knows no zone", "Europe/Berlin", "@every 30m", "2026-03-29T00:40:00Z",
			[]string{"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"},
		},
		{
			"@every counts from 1970", "UTC", "@every 7h", "1969-12-31T16:30:00Z",
			[]string{"1969-12-31T17:00:00Z", "1970-01-01T00:00:00Z", "1970-01-01T07:00:00Z"},
		},
		{
			"leap day over a century", "UTC", "0 0 29 2 *", "2096-03-01T00:00:00Z",
			[]string{"2104-02-29T00:00:00Z"},
		},
	}
	for _, c := range cases {
		t.Run(c.zone+" "+c.name, func(t *testing.T) {
			s := mustParse(t, c.cron, c.zone)
			at := mustTime(t, c.from)
			var got []string
			for range c.want {
				at = s.Next(at)
				got = append(got, at.UTC().Format(time.RFC3339))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s from %s:\n got %v\nwant %v", c.cron, c.from, got, c.want)
			}
		})
	}
}

func mustParse(t testing.TB, cron, zone string) *schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(cron, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustTime(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
