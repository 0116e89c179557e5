package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/engine/enginetest"
	"tallyman/internal/delivery"
	"tallyman/internal/ledger"
	"tallyman/internal/notice"
	"tallyman/rules"
	"tallyman/rules/deliver"
)

// withPush starts a node that has the push channels sms and gateway, and returns how often sms was woken.
func (w *world) withPush() (node, *atomic.Int32) {
	woken := &atomic.Int32{}
	o := w.options("n1")
	o.Sinks["sms"] = engine.Sink{Push: true, Wake: func() { woken.Add(1) }}
	o.Sinks["gateway"] = engine.Sink{Push: true}
	return w.start(o), woken
}

// pushes returns the deliveries to the channel as "state status title".
func (w *world) pushes(sink string) (list []string) {
	for _, p := range w.ledger.Pushes(sink) {
		list = append(list, fmt.Sprintf("%s %s %s", p.State, p.Notice.Status, p.Notice.Title))
	}
	return list
}

func afterTenMinutes(unless deliver.Unless) deliver.Entry {
	return deliver.Entry{Sink: "sms", Strategy: deliver.Delayed, Delay: 10 * time.Minute, Retry: 3, Unless: unless}
}

// The engine records the deliveries to a push channel and wakes the channel. It delivers to the inbox itself.
func TestPushChannelsAreWoken(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].Deliver = append(w.rules[0].Deliver, afterTenMinutes(deliver.UnlessRead),
			deliver.Entry{Sink: "gateway", Strategy: deliver.Timed, Within: 30 * time.Minute})
		_, woken := w.withPush()
		w.set(stock("A-01", -3))
		pass(6 * time.Minute)
		same(t, w.told(), []string{"firing Bin A-01 is at -3"})
		sms, gateway := w.ledger.Pushes("sms"), w.ledger.Pushes("gateway")
		if len(sms) != 1 || sms[0].Strategy != (delivery.Strategy{Kind: delivery.Delayed, Delay: 10 * time.Minute, Retry: 3, Unless: delivery.UnlessRead}) {
			t.Errorf("sms: %+v", sms)
		}
		if len(gateway) != 1 || gateway[0].Strategy != (delivery.Strategy{Kind: delivery.Timed, Within: 30 * time.Minute}) {
			t.Errorf("gateway: %+v", gateway)
		}
		if woken.Load() != 1 {
			t.Errorf("sms was woken %d times", woken.Load())
		}
		pass(10 * time.Minute) // runs that tell nothing wake nobody
		if woken.Load() != 1 {
			t.Errorf("sms was woken %d times", woken.Load())
		}
	})
}

func TestWakeKnowsItsSinks(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		n, woken := w.withPush()
		n.Wake([]delivery.Lane{{Sink: "sms"}, {Sink: "gateway"}, {Sink: "inbox", Warehouse: "119240"}, {Sink: "nowhere"}})
		if woken.Load() != 1 {
			t.Errorf("sms was woken %d times", woken.Load())
		}
	})
}

// A resolution follows at once where the firing notice was sent or is being tried. Where its delivery still waits,
// neither goes out.
func TestResolutionsOfPushes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attempt func(*enginetest.Ledger)
		want    []string
	}{
		"sent":    {func(l *enginetest.Ledger) { l.Try("sms", true) }, []string{"sent firing Bin A-01 is at -3", "pending resolved Resolved: Bin A-01 is at -3"}},
		"tried":   {func(l *enginetest.Ledger) { l.Try("sms", false) }, []string{"pending firing Bin A-01 is at -3", "pending resolved Resolved: Bin A-01 is at -3"}},
		"waiting": {func(*enginetest.Ledger) {}, []string{"canceled firing Bin A-01 is at -3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.rules[0].Deliver = append(w.rules[0].Deliver, afterTenMinutes(deliver.UnlessRead))
				w.withPush()
				w.set(stock("A-01", -3))
				pass(6 * time.Minute)
				c.attempt(w.ledger)
				w.set()
				pass(5 * time.Minute)
				same(t, w.pushes("sms"), c.want)
				if list := w.ledger.Pushes("sms"); len(list) == 2 && list[1].Strategy != (delivery.Strategy{Kind: delivery.Delayed, Retry: 3}) {
					t.Errorf("the resolution goes by %+v", list[1].Strategy)
				}
			})
		})
	}
}

// Without send_resolved no resolution is sent when a finding is over, but its waiting deliveries are canceled.
func TestUnlessResolved(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*rules.Rule){
		"a finding":       func(*rules.Rule) {},
		"a group":         func(r *rules.Rule) { r.GroupBy = []string{"bin_code"}; r.Notice.Title = map[string]string{"": "Bins"} },
		"a digest":        func(r *rules.Rule) { r.Limit.Notices = 1 },
		"with resolution": func(r *rules.Rule) { r.Notice.SendResolved = true },
		"a reminder":      func(r *rules.Rule) { r.RepeatInterval = 5 * time.Minute },
		"kept firing":     func(r *rules.Rule) { r.KeepFiringFor = 5 * time.Minute },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				r := w.rules[0]
				r.Notice.SendResolved = false
				change(r)
				r.Notice.Body = nil
				r.Deliver = append(r.Deliver, deliver.Entry{Sink: "sms", Strategy: deliver.Delayed, Delay: time.Hour, Unless: deliver.UnlessResolved},
					deliver.Entry{Sink: "gateway", Strategy: deliver.Delayed, Delay: time.Hour, Unless: deliver.UnlessRead})
				w.withPush()
				w.set(stock("A-01", -3), stock("A-02", -3), stock("A-03", -3))
				pass(11 * time.Minute)
				w.set(stock("A-02", -3), stock("A-03", -3))
				pass(10 * time.Minute)
				over := func(p enginetest.Push) bool { return p.State == ledger.DeliveryCanceled }
				if n := slices.IndexFunc(w.ledger.Pushes("sms"), over); n < 0 || strings.Contains(w.pushes("sms")[n], "A-02") {
					t.Errorf("A-01 is over: %q", w.pushes("sms"))
				}
				w.set()
				pass(10 * time.Minute)
				for _, p := range w.ledger.Pushes("sms") {
					if !over(p) {
						t.Errorf("all is over, and %s of %s is %s", p.Notice.Title, p.Notice.CreatedAt, p.State)
					}
				}
				if !r.Notice.SendResolved && slices.ContainsFunc(w.ledger.Pushes("gateway"), over) {
					t.Errorf("nobody has read it: %q", w.pushes("gateway"))
				}
			})
		})
	}
}

// An entry of deliver with a condition gets only notices that meet it. A digest, and an alert about the rule, go to
// every sink.
func TestDeliverWhen(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		fault := &cell[error]{}
		w.source.Rows = rowsOr(w, fault)
		r := w.rules[0]
		r.Limit.Notices, r.OnError = 2, rules.PolicyAlert
		r.Deliver = []deliver.Entry{
			{Sink: "inbox"},
			{Sink: "gateway", When: "qty < -100"},
			{Sink: "sms", Strategy: deliver.Delayed, At: `qty < -100 ? nil : now() + duration("1h")`},
		}
		w.withPush()
		w.set(stock("A-01", -3), stock("A-02", -300), stock("A-03", -3))
		pass(6 * time.Minute)
		fault.set(errAway)
		pass(5 * time.Minute)
		same(t, w.pushes("gateway"), []string{"pending firing Bin A-02 is at -300", "pending firing 1 more: negative-bin-stock", "pending firing Rule fails: negative-bin-stock"})
		var at []string
		for _, p := range w.ledger.Pushes("sms") {
			at = append(at, p.Strategy.First(p.Notice.CreatedAt).Format("15:04"))
		}
		same(t, at, []string{"01:05", "00:05", "00:05", "00:10"})
		if n := len(w.told()); n != 4 {
			t.Errorf("the inbox has %d", n)
		}
	})
}

// A notice that no entry applies to is stored, but not delivered.
func TestDeliverToNobody(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].Deliver = []deliver.Entry{{Sink: "inbox", When: "qty < -100"}}
		w.withPush()
		w.set(stock("A-01", -3))
		pass(6 * time.Minute)
		if runs := w.ledger.Runs(); len(w.told()) != 0 || runs[len(runs)-1].Notices != 1 {
			t.Errorf("%q, %+v", w.told(), runs)
		}
	})
}

func TestShadowReachesNoPushChannel(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].Shadow = true
		w.rules[0].Deliver = append(w.rules[0].Deliver, afterTenMinutes(""))
		_, woken := w.withPush()
		w.set(stock("A-01", -3))
		pass(6 * time.Minute)
		w.set()
		pass(5 * time.Minute)
		if got := w.pushes("sms"); got != nil || woken.Load() != 0 {
			t.Errorf("%q, woken %d times", got, woken.Load())
		}
		if n := w.notices(); len(n) != 2 || n[1].Status != notice.Resolved {
			t.Errorf("the shadow inbox has %q", w.told())
		}
	})
}

// A channel with a delivery for each recipient has a lane for each of them in the commit.
func TestTargetsOfMail(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].Deliver = []deliver.Entry{{Sink: "mail", Strategy: deliver.Important}}
		o := w.options("n1")
		o.Sinks["mail"] = engine.Sink{Push: true, Each: true, Address: "mail"}
		w.ledger.Subscribers = []string{"user:1", "user:2"}
		w.start(o)
		w.set(stock("A-01", -3))
		pass(6 * time.Minute)
		same(t, w.pushes("mail"), []string{"pending firing Bin A-01 is at -3", "pending firing Bin A-01 is at -3"})
	})
}

func TestRuleNeedsAKnownSink(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.rules[0].Deliver = append(w.rules[0].Deliver, deliver.Entry{Sink: "sms"})
		o := w.options("n1")
		if _, err := engine.New(o); err == nil || !strings.Contains(err.Error(), `unknown sink "sms"`) {
			t.Errorf("%v", err)
		}
		o.Sinks["sms"] = engine.Sink{Push: true}
		if _, err := engine.New(o); err != nil {
			t.Error(err)
		}
	})
}
