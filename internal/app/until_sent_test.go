package app_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
	"tallyman/sinks"
)

// With until: sent a receiver that comes back after the notice has expired still gets the whole notice. The API shows
// every attempt. On both ledgers.
func TestUntilSent(t *testing.T) {
	t.Parallel()
	for name, prepare := range environments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, gateway := newSite(t), receive(t)
			gateway.say(down)
			for _, sink := range []string{"gateway", "carrier"} {
				s.webhook(sink, gateway.server.URL).Breaker = sinks.Breaker{Failures: 1000, Open: time.Second}
			}
			wms := prepare(s)
			rule := pushRule("{sink: gateway, strategy: important, until: sent}, {sink: carrier, strategy: important}")
			s.rule("stock.yaml", strings.Replace(rule, "send_resolved: true", "expires: 1s", 1))
			wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
			n := s.start("one")
			testenv.Eventually(t, func() bool { return n.deliveries("carrier", "canceled") == 1 }, 20*time.Second)
			before := len(gateway.titles())
			testenv.Eventually(t, func() bool { return len(gateway.titles()) > before }, 20*time.Second) // it goes on
			gateway.say(nil)
			testenv.Eventually(t, func() bool { return n.deliveries("gateway", "sent") == 1 }, 30*time.Second)
			gateway.mu.Lock()
			last := gateway.bodies[len(gateway.bodies)-1]
			gateway.mu.Unlock()
			if last["title"] != "Bin A-01 is at -3" || last["body"] != "S1 in A-01 went to -3." {
				t.Errorf("the webhook got %v", last)
			}
			var list wire.DeliveriesForm
			n.get("/deliveries?sink=gateway", &list)
			var d wire.DeliveryForm
			n.get("/deliveries/"+strconv.FormatInt(list.Deliveries[0].ID, 10), &d)
			if d.Strategy.Until != "sent" || d.Attempts < 2 || len(d.LastAttempts) != min(d.Attempts, 20) {
				t.Fatalf("%+v", d)
			}
			if a := d.LastAttempts[0]; a.Status != 200 || a.Error != "" || a.DurationMS < 1 || a.At.After(*d.SentAt) || !a.At.After(*d.ExpiresAt) {
				t.Errorf("the last attempt is %+v", a)
			}
			if a := d.LastAttempts[1]; a.Status != 503 || !strings.Contains(a.Error, "closed for stock taking") {
				t.Errorf("the one before is %+v", a)
			}
		})
	}
}
