package engine_test

import (
	"strings"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/engine/why"
	"tallyman/internal/ledger"
	"tallyman/rules/deliver"
)

// push is what Why says of the deliveries to push channels, a line each.
func pushHeld(y *why.Answer) string {
	var lines []string
	for _, h := range y.Reasons {
		if strings.HasPrefix(h.Code, "push_") {
			lines = append(lines, h.Code+": "+h.Text)
		}
	}
	return strings.Join(lines, "\n")
}

func TestWhyAPushWaits(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		deliver deliver.Entry
		record  func(*ledger.DeliveryRecord)
		want    string
	}{
		"unless read":    {afterTenMinutes(deliver.UnlessRead), nil, "push_delayed: the delivery to sms goes out at 2000-01-01 00:15:00Z unless somebody reads the notice"},
		"unless acked":   {afterTenMinutes(deliver.UnlessAcked), nil, "push_delayed: the delivery to sms goes out at 2000-01-01 00:15:00Z unless somebody acks the notice"},
		"unless nothing": {afterTenMinutes(""), nil, "push_delayed: the delivery to sms goes out at 2000-01-01 00:15:00Z"},
		"behind": {
			afterTenMinutes(""), func(d *ledger.DeliveryRecord) { d.Behind, d.Next = true, time.Time{} },
			"push_behind: the delivery to sms waits until an earlier delivery of the finding has ended",
		},
		"tried again": {
			deliver.Entry{Sink: "sms", Strategy: deliver.Timed, Within: time.Hour},
			func(d *ledger.DeliveryRecord) {
				d.Attempts, d.LastError, d.Next = 3, "503 from the gateway", midnight.Add(20*time.Minute)
			},
			"push_retry: the delivery to sms has failed 3 times and is tried again at 2000-01-01 00:20:00Z, until 2000-01-01 01:05:00Z: 503 from the gateway",
		},
		"held back": {
			deliver.Entry{Sink: "sms", Strategy: deliver.Important},
			func(d *ledger.DeliveryRecord) {
				d.Attempts, d.LastError, d.Next = 1, "503", midnight.Add(5*time.Minute)
			},
			"push_retry: the delivery to sms has failed once and waits for its next attempt: the channel is busy, or pauses after failures: 503",
		},
		"running": {deliver.Entry{Sink: "sms"}, func(d *ledger.DeliveryRecord) { d.Node = "b" }, "push_running: the delivery to sms is being tried by b"},
		"due":     {deliver.Entry{Sink: "sms"}, nil, "push_due: the delivery to sms has not been tried yet: the channel is busy or pauses after failures, or no node runs the channel"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.rules[0].Deliver = append(w.rules[0].Deliver, c.deliver)
				n, _ := w.withPush()
				w.set(stock("A-01", -3))
				pass(6 * time.Minute)
				w.ledger.Tell("sms", c.record)
				y := w.why(t, n, "A-01")
				if got := pushHeld(y); got != c.want {
					t.Errorf("%s\nwant\n%s", got, c.want)
				}
				if len(y.Waiting) != 1 || y.Waiting[0].Seq != y.Notices[0].Deliveries[1].Seq {
					t.Errorf("%+v", y.Waiting)
				}
				w.ledger.Try("sms", true)
				if y := w.why(t, n, "A-01"); pushHeld(y) != "" || len(y.Waiting) != 0 {
					t.Errorf("it is sent: %+v", y.Reasons)
				}
			})
		})
	}
}

// Mails to many are one reason, not many.
func TestWhyManyPushesWait(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].Deliver = []deliver.Entry{{Sink: "mail", Strategy: deliver.Delayed, Delay: time.Hour}}
		w.ledger.Subscribers = []string{"user:1", "user:2", "user:3"}
		o := w.options("n1")
		o.Sinks["mail"] = engine.Sink{Push: true, Each: true, Address: "mail"}
		n := w.start(o)
		w.set(stock("A-01", -3))
		pass(6 * time.Minute)
		if got := pushHeld(w.why(t, n, "A-01")); got != "push_delayed: the delivery to mail goes out at 2000-01-01 01:05:00Z; and 2 more to mail" {
			t.Error(got)
		}
	})
}

// A row that meets the condition shows where its notice would go.
func TestWhyWhereItWouldGo(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].For = time.Hour
		w.rules[0].Deliver = append(w.rules[0].Deliver, afterTenMinutes(deliver.UnlessRead),
			deliver.Entry{Sink: "gateway", When: "qty < -100", Strategy: deliver.Delayed, At: `now() + duration("1h")`})
		n, _ := w.withPush()
		w.set(stock("A-01", -3), stock("A-02", -300))
		pass(6 * time.Minute)
		same(t, w.why(t, n, "A-01").Look.To, []string{"inbox", "sms after 10m unless read"})
		same(t, w.why(t, n, "A-02").Look.To, []string{"inbox", "sms after 10m unless read", "gateway at 2000-01-01 01:06:00Z"})
	})
}
