package e2e

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// escalationRule tells a channel of what nobody has read after some seconds.
const escalationRule = `
version: 1
rules:
  - id: empty-bin
    source: wms
    schedule: {cron: "* * * * * *"}
    probe: {sql: "SELECT wh_id, bin_code, qty FROM bin_stock WHERE qty < 0"}
    key: [wh_id, bin_code]
    notice: {type: REP_NOTICE, warehouse: wh_id, title: "Bin {{ .bin_code }} is empty", fields: {bin: bin_code}, send_resolved: true}
    deliver:
      - {sink: inbox}
      - {sink: sms, strategy: delayed, delay: 10s, unless: read}
      - {sink: pager, strategy: delayed, delay: 10s, unless: resolved, when: qty < -10}
`

// What somebody has read, or what is over, goes to nobody else; the rest goes when its time has come. The node that made the
// notices is not the one that sends them.
func TestEscalation(t *testing.T) {
	t.Parallel()
	c := newCluster(t, killLease, escalationRule)
	sms, pager := calmReceiver(t), calmReceiver(t)
	c.sinks(webhook("sms", sms) + webhook("pager", pager))
	l := c.openLedger()
	n := c.start(0)
	c.bins("read", -1, 1, 1)
	c.bins("over", -20, 1, 1)
	c.bins("urgent", -20, 1, 1)
	byBin := map[string]ledger.DeliveryRecord{}
	testenv.Eventually(t, func() bool {
		list, err := l.ListDeliveries(t.Context(), ledger.DeliveryFilter{Sink: "sms", Limit: 10})
		for _, d := range list {
			byBin[d.Title] = d
		}
		return err == nil && len(list) == 3
	}, 20*time.Second)

	read := byBin["Bin read-1 is empty"].Notice
	query := url.Values{"warehouse": {"119240"}, "subscriber": {"role:keeper", "user:7"}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.base+"/api/v1/notices/"+read+"/read?"+query.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() bool {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(req)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusNoContent
	}, 8*time.Second)
	c.exec(t.Context(), `UPDATE bin_stock SET qty = 1 WHERE bin_code = 'over-1'`)
	testenv.Eventually(t, func() bool {
		list, err := l.ListDeliveries(t.Context(), ledger.DeliveryFilter{Sink: "pager", States: []ledger.DeliveryState{ledger.DeliveryCanceled}, Limit: 10})
		return err == nil && len(list) == 1
	}, 8*time.Second)
	n.stop()
	other := c.start(0)

	testenv.Eventually(t, func() bool {
		counts, err := l.CountDeliveries(t.Context())
		return err == nil && counts["sms"][ledger.DeliveryPending]+counts["pager"][ledger.DeliveryPending] == 0
	}, 20*time.Second)
	for name, r := range map[string]*receiver{"sms": sms, "pager": pager} {
		got, _ := r.seen()
		if len(got) != 1 || got[0].Key != `[119240,"urgent-1"]` {
			t.Errorf("%s was told of %+v", name, got)
			continue
		}
		due := byBin["Bin urgent-1 is empty"].Created.Add(10 * time.Second)
		if late := got[0].at.Sub(due); late < 0 || late > time.Second+clockSlack {
			t.Errorf("%s was told %s after the time", name, late)
		}
	}
	other.stop()
}
