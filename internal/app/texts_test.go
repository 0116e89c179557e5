package app_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/internal/text/texttest"
	"tallyman/internal/wire"
	"tallyman/rules/row"
)

// oddBins are what bins of a careless WMS are called: texts that differ by what PostgreSQL and XML cannot hold, and by
// bytes that are no UTF-8.
var oddBins = []string{
	"A", "A\x00", "A\x00\x00", "A\x01", "A\x1b[31m", "A\x7f", "A\u0085", "A\u009b", "A\u202e", "A\u2066", "A\xff", "A\xfe", "A\xed\xa0\x80", "A\ufffd", "A\ufffe", `A\u0000`, `A\udcff`,
	"A\r\nB", "A\tB", texttest.All(),
}

// watermarkRule tells each new row once; its watermark is the text itself.
const watermarkRule = `
version: 1
rules:
  - id: new-bins
    mode: event
    schedule: {cron: "@every 1s"}
    source: wms
    probe:
      sql: SELECT wh_id, bin_code, sku, qty FROM bin_stock WHERE bin_code > :wm_bin_code ORDER BY bin_code
      watermark: {columns: [bin_code], initial: {bin_code: ""}}
    key: [bin_code]
    notice:
      type: REP_NOTICE
      warehouse: wh_id
      title: "New: {{ .bin_code }}"
      fields: {bin: bin_code}
    deliver: [{sink: inbox}]
`

// No text that a source may have stops a run, a commit or a delivery, on either ledger. Findings have distinct keys,
// notices have the raw texts, and a second run finds nothing new.
func TestRowsThatNoTextMayBe(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*site){"sqlite ledger": func(*site) {}, "postgres ledger": func(s *site) { s.realServers() }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			prepare(s)
			wms := s.sqliteWMS()
			for _, bin := range oddBins {
				wms.exec(fmt.Sprintf(`INSERT INTO bin_stock VALUES (119240, CAST(x'%x' AS TEXT), 'S1', -3)`, bin))
			}
			s.rule("stock.yaml", s.queue())
			n := s.start("one")
			pg := n.await(url.Values{"limit": {"200"}}, len(oddBins))
			titles, keys := map[string]bool{}, map[string]bool{}
			for _, one := range pg.Notices {
				titles[one.Title], keys[one.Key] = true, true
			}
			for _, bin := range oddBins {
				key := string(append(row.TextOf(bin).AppendKey([]byte("[119240,")), `,"S1"]`...))
				title := "Bin " + strings.Join(strings.Fields(strings.ToValidUTF8(bin, "\uFFFD")), " ") + " is at -3"
				if !keys[key] || !titles[title] {
					t.Errorf("%.40q: key %.60s there: %v, title there: %v", bin, key, keys[key], titles[title])
				}
			}
			if len(keys) != len(oddBins) {
				t.Errorf("%d keys of %d rows", len(keys), len(oddBins))
			}
			n.ranAgain(3)
			if again := n.await(url.Values{"limit": {"200"}}, len(oddBins)); len(again.Notices) != len(oddBins) {
				t.Errorf("told again: %d", len(again.Notices))
			}
			if r := n.rule("negative-bin-stock"); r.LastRun == nil || r.LastRun.Outcome != "ok" {
				t.Errorf("%+v", r)
			}
			var items wire.ItemsForm
			testenv.Eventually(t, func() bool {
				return n.ask(http.MethodGet, "/items?state=ready&limit=200", "", &items) == http.StatusOK && len(items.Items) == len(oddBins)
			}, 20*time.Second)
			// Each answer parses, whatever is asked for.
			for _, path := range []string{"/notices/search?limit=200", "/rules/negative-bin-stock/findings", "/queues/" + workQueue + "/items?state=ready", "/overview", "/deliveries?limit=100"} {
				for _, accept := range []string{"application/json", "application/xml"} {
					code, body := n.do(http.MethodGet, "/api/v1"+path, accept, "")
					if code != http.StatusOK {
						t.Errorf("%s: %d %s", path, code, body)
					}
					texttest.Visible(t, path, body)
				}
			}
			if why := n.why(`[119240,"A\u0000","S1"]`); why.State != "firing" {
				t.Errorf("why of a key with an escape: %+v", why)
			}
			if why := n.why(`[119240,"A\udcff","S1"]`); why.State != "firing" {
				t.Errorf("why of a key that is no UTF-8: %+v", why)
			}
			wms.exec(`UPDATE bin_stock SET qty = 1`)
			resolved := n.await(url.Values{"limit": {"200"}}, 2*len(oddBins))
			for _, one := range resolved.Notices[len(oddBins):] {
				if one.Status != "resolved" || !keys[one.Key] {
					t.Errorf("%s %.60q", one.Status, one.Key)
				}
			}
		})
	}
}

// A watermark is the raw value: rows behind a text with a zero byte are found, each once.
func TestWatermarkThatNoTextMayBe(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*site){"sqlite ledger": func(*site) {}, "postgres ledger": func(s *site) { s.realServers() }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			prepare(s)
			wms := s.sqliteWMS()
			insert := func(bin string) {
				wms.exec(fmt.Sprintf(`INSERT INTO bin_stock VALUES (119240, CAST(x'%x' AS TEXT), 'S1', 1)`, bin))
			}
			s.rule("bins.yaml", watermarkRule)
			n := s.start("one")
			for i, bin := range []string{"A\x00", "A\x00\x01", "A\x7f", "A\u0085", "A\u202e", "A\xff"} {
				insert(bin)
				n.await(nil, i+1)
			}
			n.ranAgain(2)
			n.await(nil, 6)
		})
	}
}
