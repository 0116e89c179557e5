package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// deliveryTo returns the latest notice's delivery to the sink.
func deliveryTo(w wire.WhyForm, sink string) wire.TracedDeliveryForm {
	for _, d := range w.Told[0].Deliveries {
		if d.Sink == sink {
			return d
		}
	}
	return wire.TracedDeliveryForm{}
}

// Why says what a delivery waits for, and what has canceled it. On both ledgers.
func TestWhyOfAnEscalation(t *testing.T) {
	t.Parallel()
	for name, prepare := range environments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, gateway := newSite(t), receive(t)
			s.webhook("sms", gateway.server.URL)
			s.webhook("pager", gateway.server.URL)
			wms := prepare(s)
			s.rule("stock.yaml", pushRule("{sink: inbox}, {sink: sms, strategy: delayed, delay: 1h, unless: read}, {sink: pager, strategy: delayed, delay: 1h, when: qty < -10}"))
			wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
			n := s.start("one")
			id := n.await(nil, 1).Notices[0].ID
			w := n.why("119240,A-01,S1")
			var held string
			for _, h := range w.Held {
				if h.Code == "push_delayed" {
					held = h.Text
				}
			}
			if !strings.HasPrefix(held, "the delivery to sms goes out at ") || !strings.HasSuffix(held, " unless somebody reads the notice") {
				t.Errorf("held %+v", w.Held)
			}
			if d := deliveryTo(w, "sms"); d.State != "pending" || d.Next == nil || d.Next.Sub(w.Told[0].CreatedAt) != time.Hour {
				t.Errorf("told %+v", w.Told)
			}
			if d := deliveryTo(w, "pager"); d.State != "" {
				t.Errorf("-3 goes to the pager: %+v", d)
			}
			if to := strings.Join(w.Look.To, "; "); to != "inbox; sms after 1h unless read" {
				t.Errorf("it would go to %s", to)
			}
			if code, body := n.do(http.MethodPost, "/api/v1/notices/"+id+"/read?warehouse=119240&subscriber=user:bob&subscriber=role:keeper", "application/json", ""); code != http.StatusNoContent {
				t.Fatalf("%d %s", code, body)
			}
			if d := deliveryTo(n.why("119240,A-01,S1"), "sms"); d.State != "canceled" || !strings.Contains(d.Error, "user:bob") {
				t.Errorf("after it was read: %+v", d)
			}
			wms.exec(`UPDATE bin_stock SET qty = 20 WHERE bin_code = 'A-01'`)
			testenv.Eventually(t, func() bool { return n.why("119240,A-01,S1").Told[0].Status == "resolved" }, 10*time.Second)
			if d := deliveryTo(n.why("119240,A-01,S1"), "sms"); d.State != "" || len(gateway.titles()) != 0 {
				t.Errorf("nothing was sent, and yet %+v, %q", d, gateway.titles())
			}
		})
	}
}
