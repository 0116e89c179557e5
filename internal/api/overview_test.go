package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/auth"
	"tallyman/internal/ledger"
	"tallyman/internal/wire"
)

const overviewPath = "/api/v1/overview"

// narrow is an operator of warehouses.
func narrow(warehouses ...string) auth.Identity {
	return auth.Identity{Subject: "user:op", Access: []auth.Role{auth.Operator}, Warehouses: warehouses, Token: "t1"}
}

// withoutAges removes the times for which items have been ready or counted, because they come from the machine's clock.
func withoutAges(body string) string {
	for _, part := range []struct{ begin, end string }{{`,"oldestSeconds":`, "}"}, {"<oldestSeconds>", "</level>"}, {`"seconds":`, `"pushed"`}, {` seconds="`, "><pushed>"}} {
		for {
			from := strings.Index(body, part.begin)
			if from < 0 {
				break
			}
			to := from + strings.Index(body[from:], part.end)
			body = body[:from] + body[to:]
		}
	}
	return body
}

func TestOverview(t *testing.T) {
	t.Parallel()
	f := newFakeOverview()
	b := setup(t, f.overviewing(func() time.Time { return bin().CreatedAt }))
	golden(t, "overview.json", withoutAges(b.get(t, overviewPath).body))
	golden(t, "overview.xml", withoutAges(b.get(t, overviewPath, "Accept", "application/xml").body))
	if f.looks != 1 {
		t.Errorf("it was looked up %d times", f.looks)
	}
}

// seen is the overview that a caller with fewer warehouses gets.
type seen struct {
	Rules    wire.RuleHealthForm
	Notices  wire.NoticeCountsForm
	Findings []wire.FindingCountForm
	Queues   []struct{ Name string }
	Sinks    []struct{ Name string }
	Stale    []string

	StaleSince *time.Time
}

func (s *seen) counts() (count, urgent int64) {
	for _, h := range s.Notices.Hours {
		count, urgent = count+h.Count, urgent+h.Urgent
	}
	return count, urgent
}

func readOverview(t *testing.T, got answer) (s seen) {
	t.Helper()
	if err := json.Unmarshal([]byte(got.body), &s); err != nil || got.status != http.StatusOK {
		t.Fatalf("%d %s: %v", got.status, got.body, err)
	}
	return s
}

func TestOverviewsAreNarrowed(t *testing.T) {
	t.Parallel()
	b := newBundle(newFakeOverview().overviewing(func() time.Time { return bin().CreatedAt }), func(d *parts) {
		d.Auth = bearer{"one": narrow("119240"), "two": narrow("119240", "119241"), "none": narrow()}
	})
	for _, c := range []struct {
		token, query            string
		count, urgent, lastHour int64
		ok, disabled, waiting   int
		findings                []wire.FindingCountForm
	}{
		{"", "", 14, 4, 5, 1, 1, 0, []wire.FindingCountForm{{Pending: 1}, {Warehouse: "119240", Firing: 7, Pending: 2}, {Warehouse: "119241", Firing: 3}}},
		{"", "?warehouse=119241&warehouse=", 8, 1, 3, 0, 1, 0, []wire.FindingCountForm{{Warehouse: "119241", Firing: 3}}},
		{"one", "", 6, 3, 2, 1, 0, 0, []wire.FindingCountForm{{Warehouse: "119240", Firing: 7, Pending: 2}}},
		{"two", "", 14, 4, 5, 1, 1, 0, []wire.FindingCountForm{{Warehouse: "119240", Firing: 7, Pending: 2}, {Warehouse: "119241", Firing: 3}}},
		{"two", "?warehouse=119240", 6, 3, 2, 1, 0, 0, []wire.FindingCountForm{{Warehouse: "119240", Firing: 7, Pending: 2}}},
		{"two", "?warehouse=119241&warehouse=119240", 14, 4, 5, 1, 1, 0, []wire.FindingCountForm{{Warehouse: "119240", Firing: 7, Pending: 2}, {Warehouse: "119241", Firing: 3}}},
	} {
		s := readOverview(t, b.handle(t, overviewPath+c.query, "Authorization", c.token))
		count, urgent := s.counts()
		if count != c.count || urgent != c.urgent || s.Notices.LastHour != c.lastHour || !slices.Equal(s.Findings, c.findings) {
			t.Errorf("%s%s: %d notices, %d urgent, %d in the last hour, %v", c.token, c.query, count, urgent, s.Notices.LastHour, s.Findings)
		}
		if since := s.Rules.UnverifiedSince; since == nil || !since.Equal(bin().CreatedAt.Add(-time.Hour)) {
			t.Errorf("%s%s: unverified since %v", c.token, c.query, since)
		}
		if s.Rules.OK != c.ok || s.Rules.Disabled != c.disabled || s.Rules.Unverified != 1 || s.Rules.Shadow != 1 {
			t.Errorf("%s%s: rules %+v", c.token, c.query, s.Rules)
		}
		if len(s.Queues) != 1 || len(s.Sinks) != 3 {
			t.Errorf("%s%s: queues %v, sinks %v", c.token, c.query, s.Queues, s.Sinks)
		}
	}
	for query, code := range map[string]string{"?warehouse=119241": "warehouse_denied", "?warehouse=119240&warehouse=x": "warehouse_denied", "?warehouse=*": "bad_warehouse", "?scope=1": "unknown_parameter"} {
		for _, path := range []string{overviewPath, overviewPath + "/stream"} {
			if got := b.handle(t, path+query, "Authorization", "one"); got.status < 400 || got.asProblem(t).Code != code {
				t.Errorf("%s%s: %d %s", path, query, got.status, got.body)
			}
		}
	}
	if got := b.handle(t, overviewPath, "Authorization", "none"); got.asProblem(t).Code != "warehouse_denied" {
		t.Errorf("without warehouses: %d %s", got.status, got.body)
	}
}

func TestOverviewsOfALedgerThatIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeOverview()
		b := newBundle(f.overviewing(func() time.Time { return bin().CreatedAt }))
		whole := readOverview(t, b.handle(t, overviewPath))
		f.change(func() { f.err = errBroken })
		b.deliveries.err = errBroken
		b.queue[0].err = errBroken
		pass(lookEvery)
		part := readOverview(t, b.handle(t, overviewPath))
		if !slices.Equal(part.Stale, []string{"findings", "notices", "queues", "rules", "sinks"}) {
			t.Errorf("stale: %v", part.Stale)
		}
		if since := part.StaleSince; since == nil || !since.Equal(bin().CreatedAt) { // By the rules' clock, as the other times.
			t.Errorf("stale since %v", since)
		}
		part.Stale, part.StaleSince = nil, nil
		was, _ := json.Marshal(whole)
		is, _ := json.Marshal(part)
		if string(was) != string(is) {
			t.Errorf("it was %s, and is %s", was, is)
		}
	})
}

const lookEvery = 2 * time.Second

// TestASlowLedgerIsLookedAtLessOften measures the time from the beginning of a look to the beginning of the next look.
func TestASlowLedgerIsLookedAtLessOften(t *testing.T) {
	t.Parallel()
	const least = 100 * time.Millisecond // The test asks so often.
	for takes, want := range map[time.Duration]time.Duration{
		0: lookEvery, lookEvery / 10: lookEvery, 500 * time.Millisecond: 5 * time.Second, time.Second: 10 * time.Second,
		5 * time.Second: 15 * time.Second, 9 * time.Second: 19 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeOverview()
			f.takes = takes
			b := newBundle(f.overviewing(func() time.Time { return bin().CreatedAt }))
			began := time.Now()
			for f.looks < 2 {
				pass(least)
				if f.looks == 0 {
					began = time.Now()
				}
				b.handle(t, overviewPath)
			}
			if got := time.Since(began) - takes; got < want || got > want+least {
				t.Errorf("looks of %s begin every %s, want %s", takes, got, want)
			}
		})
	}
}

// TestNoticesAreCountedOnce follows what the ledger is asked while time goes on: hours that are over once, and of the rest what may still grow.
func TestNoticesAreCountedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := bin().CreatedAt // 00:10
		f := newFakeOverview()
		b := newBundle(f.overviewing(func() time.Time { return now }))
		look := func(forward time.Duration) (s seen, asked string) {
			pass(lookEvery)
			now = now.Add(forward)
			s = readOverview(t, b.handle(t, overviewPath))
			f.change(func() { asked, f.asked = strings.Join(f.asked, ", "), nil })
			return s, asked
		}
		s, asked := look(0)
		if !strings.HasPrefix(asked, "01:00-02:00 1h0m0s, 02:00-03:00 1h0m0s, ") || !strings.HasSuffix(asked, "23:00-00:00 1h0m0s, 22:10-00:11 1m0s") || strings.Count(asked, ",") != 23 {
			t.Errorf("at first: %s", asked)
		}
		made := func(at time.Time) {
			f.change(func() { f.made = append(f.made, ledger.NoticeCount{Start: at, Warehouse: "119240", Count: 1}) })
		}
		made(now.Add(-time.Minute))
		made(now.Add(-10 * time.Minute)) // it comes too late
		if s, asked = look(20 * time.Second); asked != "00:08-00:11 1m0s" || s.Notices.LastHour != 6 {
			t.Errorf("soon: %s, %d", asked, s.Notices.LastHour)
		}
		if s, asked = look(51 * time.Minute); asked != "00:08-01:02 1m0s" || s.Notices.LastHour != 4 || s.Notices.Hours[22].Count != 4 {
			t.Errorf("the hour is over: %s, %d, %+v", asked, s.Notices.LastHour, s.Notices.Hours[20:])
		}
		if s, asked = look(5 * time.Minute); asked != "00:00-01:00 1h0m0s, 00:59-01:07 1m0s" || s.Notices.LastHour != 4 || s.Notices.Hours[22].Count != 5 {
			t.Errorf("the hour is settled: %s, %d, %+v", asked, s.Notices.LastHour, s.Notices.Hours[20:])
		}
		if s, asked = look(48 * time.Hour); strings.Count(asked, "1h0m0s") != 23 || !strings.HasSuffix(asked, "23:06-01:07 1m0s") || s.Notices.LastHour != 0 {
			t.Errorf("two days later: %s", asked)
		}
		if count, _ := s.counts(); count != 0 {
			t.Errorf("two days later there are %d", count)
		}
	})
}
