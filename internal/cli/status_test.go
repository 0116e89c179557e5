package cli

import (
	"strings"
	"testing"
	"time"

	"tallyman/internal/wire"
)

func TestSinksTable(t *testing.T) {
	t.Parallel()
	form := decode[wire.SinksForm](t, apiAnswer(t, "sinks.json"))
	var text strings.Builder
	writeSinks(&text, 200, form.Sinks, someTime.Add(-20*time.Second))
	const want = `SINK     TYPE     STATE           PENDING  FAILED  TIMED OUT  OLDEST  LAST ERROR         IN FLIGHT  LAST SENT             SENT  CANCELED
gateway  webhook  ok              2        0       0          5m      -                  2          2026-06-01 00:10:00Z  0     0
inbox    inbox    ok              0        0       0          -       -                  -          -                     1     0
sms      chat     open, 20s more  1        1       0          -       dial tcp: refused  0          -                     0     1
`
	if text.String() != want {
		t.Errorf("got\n%s", text.String())
	}
}

func TestSinkStates(t *testing.T) {
	t.Parallel()
	soon := someTime.Add(90 * time.Second)
	push := func(b wire.BreakerForm, change func(*wire.PushStatusForm)) *wire.SinkForm {
		s := &wire.SinkForm{Push: &wire.PushStatusForm{Breaker: b}}
		change(s.Push)
		return s
	}
	none := func(*wire.PushStatusForm) {}
	earlier := someTime.Add(-time.Minute)
	if got := standing(&wire.PushStatusForm{LastError: "refused", LastErrorAt: &earlier, LastSent: &someTime}); got != "" {
		t.Errorf("an error that is over: %s", got)
	}
	if got := standing(&wire.PushStatusForm{LastError: "refused", LastErrorAt: &someTime, LastSent: &earlier}); got != "refused" {
		t.Errorf("an error that stands: %s", got)
	}
	for want, s := range map[string]*wire.SinkForm{
		"ok":               {OK: true},
		"failing":          {Error: "it is being written back"},
		"open, 1m30s more": push(wire.BreakerForm{State: "open", Until: &soon}, none),
		"tries the next":   push(wire.BreakerForm{State: "half_open"}, none),
		"trying one":       push(wire.BreakerForm{State: "half_open"}, func(p *wire.PushStatusForm) { p.InFlight = 1 }),
		"held, 1m30s more": push(wire.BreakerForm{State: "closed"}, func(p *wire.PushStatusForm) { p.HeldUntil = &soon }),
		"failing ":         push(wire.BreakerForm{State: "closed", Failures: 2}, none),
	} {
		if got := sinkState(s, someTime); got != strings.TrimSpace(want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestSinks(t *testing.T) {
	t.Parallel()
	all := apiAnswer(t, "sinks.json")
	one := func(name string) reply {
		for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(all.body), "]}"), `{"name":`) {
			if strings.HasPrefix(part, `"`+name+`"`) {
				return reply{200, `{"name":` + strings.TrimSuffix(part, ",")}
			}
		}
		t.Fatalf("there is no %s", name)
		return reply{}
	}
	url, calls := server(t, all, one("sms"), one("gateway"), one("inbox"), reply{404, `{"status":404,"code":"sink_not_found","detail":"there is no sink \"x\""}`})
	if code, out, errOut := run(t, url, "", "sinks", "list"); code != ExitFine || strings.Count(out, "\n") != 5 {
		t.Errorf("%d %s%s", code, out, errOut)
	}
	const sms = `sms (chat): trying one
  breaker      open since 2026-06-01 00:10:00Z, one delivery is tried at 2026-06-01 00:10:30Z
  failures     5 in a row
  held until   2026-06-01 00:11:00Z
  in flight    0, and 0 that are next
  last error   dial tcp: refused
  error at     2026-06-01 00:10:00Z

Deliveries
  pending      1
  sent         0
  failed       1
  timed out    0
  canceled     1

Configuration
  timeout      10s
  concurrency  8
  rate         none
  breaker      5 failures, open 30s
`
	if code, out, errOut := run(t, url, "", "sinks", "show", "sms"); code != ExitFine || out != sms {
		t.Errorf("%d %s%s", code, out, errOut)
	}
	if _, out, _ := run(t, url, "", "sinks", "show", "gateway"); !strings.Contains(out, "  batch        up to 100, waits 1s\n") || !strings.Contains(out, "  last sent    2026-06-01 00:10:00Z\n") {
		t.Errorf("%s", out)
	}
	if _, out, _ := run(t, url, "", "sinks", "show", "inbox"); !strings.HasPrefix(out, "inbox (inbox): ok\n\nDeliveries\n") || strings.Contains(out, "Configuration") {
		t.Errorf("%s", out)
	}
	if code, _, errOut := run(t, url, "", "sinks", "show", "x"); code != ExitProblems || !strings.Contains(errOut, "sink_not_found") {
		t.Errorf("%d %s", code, errOut)
	}
	if (*calls)[1].path != "/api/v1/sinks/sms" {
		t.Errorf("asked %v", *calls)
	}
}

func TestCountsThatEnd(t *testing.T) {
	t.Parallel()
	if few, most := upTo(9999), upTo(10000); few != "9999" || most != "10000+" {
		t.Errorf("got %s and %s", few, most)
	}
}

// What is late, degraded or late and failing too is told.
func TestStatusNamesWhatIsWrongWithRules(t *testing.T) {
	t.Parallel()
	rule := func(change func(*wire.RuleStatus)) wire.RuleStatus {
		r := wire.RuleStatus{ID: "r", Scope: "119240", Enabled: true, Verified: true, LastRun: &wire.RunStatus{Outcome: "ok", Started: someTime}}
		change(&r)
		return r
	}
	for want, r := range map[string]wire.RuleStatus{
		"": rule(func(*wire.RuleStatus) {}),
		"rule r in 119240 is late: its next firing should have started 6m1s ago": rule(func(r *wire.RuleStatus) { r.Late, r.Overdue = true, 361.5 }),
		"rule r in 119240 does not run: no table|rule r in 119240 is late: its next firing should have started 1h ago": rule(func(r *wire.RuleStatus) {
			r.Verified, r.Reason, r.Late, r.Overdue = false, "no table", true, 3600
		}),
		"rule r in 119240 is degraded: its run at 2026-06-01 00:10:30Z could not judge, or could not make notices of, 34 of 49 rows: qty is null": rule(func(r *wire.RuleStatus) {
			r.LastRun = &wire.RunStatus{Outcome: "degraded", Started: someTime, Rows: 49, Errored: 34, Samples: []string{"qty is null", "more"}}
		}),
		"rule r in 119240 is degraded: split_unknown_scope: of 2 rows …": rule(func(r *wire.RuleStatus) {
			r.LastRun = &wire.RunStatus{Outcome: "degraded", Started: someTime, Rows: 49, Strays: 2, Samples: []string{"split_unknown_scope: of 2 rows …"}}
		}),
		"rule r in 119240 is degraded: its run at 2026-06-01 00:10:30Z saw keys repeat": rule(func(r *wire.RuleStatus) {
			r.LastRun = &wire.RunStatus{Outcome: "degraded", Started: someTime, Rows: 49}
		}),
	} {
		if got := strings.Join(ailments(&wire.StatusReport{Rules: []wire.RuleStatus{r}}), "|"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Commits that the ledger refuses are told. A sink whose calls fail is told once, and one whose notices wait for long is told though it is well.
func TestStatusNamesPartsAndSinks(t *testing.T) {
	t.Parallel()
	s := &wire.StatusReport{
		Health: []wire.Health{{Part: "commits", Since: &someTime, Error: "runs: 5 refused"}, {Part: "redis", Name: "inbox", Error: "OOM"}},
		Sinks: []wire.SinkForm{
			{Name: "inbox", Error: "OOM", Oldest: &someTime, OldestSecs: 599},
			{Name: "gateway", Error: "503"},
			{Name: "sms", OK: true, Oldest: &someTime, OldestSecs: 600},
		},
	}
	want := "the ledger refuses commits since 2026-06-01 00:10:30Z: runs: 5 refused|the redis inbox has a problem: OOM|the sink gateway has a problem: 503|the oldest delivery to the sink sms has waited for 10m"
	if got := strings.Join(ailments(s), "|"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
