package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"tallyman/internal/wire"
)

// A rule that would not fit its source does not take the place of one that runs; when the source has changed it does. A rule that is new is
// taken in, and verified when it can be.
func TestRuleThatItsSourceRefuses(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wms := s.sqliteWMS()
	s.rule("stock.yaml", stockRule)
	n := s.start("one")
	n.shows("it runs", func(r *wire.StatusReport) bool { return r.Rules[0].Verified })

	other := strings.Replace(tells("New {{ .bin_code }}"), "SELECT wh_id,", "SELECT zone, wh_id,", 1)
	s.rule("stock.yaml", other)
	n.shows("the probe is refused", func(r *wire.StatusReport) bool {
		return len(r.Problems) == 1 && strings.HasSuffix(r.Problems[0].File, "stock.yaml") && r.Problems[0].Line > 1 && r.Problems[0].Rule == "negative-bin-stock" &&
			r.Rules[0].Stale && r.Rules[0].Verified
	})
	s.rule("stock.yaml", strings.Replace(tells("New"), "when: qty < 0", "when: qyt < 0", 1))
	n.shows("the column is unknown", func(r *wire.StatusReport) bool {
		return len(r.Problems) == 1 && r.Problems[0].Code == "expr_unknown_name" && r.Rules[0].Stale && r.Rules[0].Verified
	})
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	if p := n.await(nil, 1); p.Notices[0].Title != "Bin A-01 is at -3" {
		t.Errorf("the last good version tells %+v", p.Notices)
	}

	s.rule("stock.yaml", other)
	s.rule("more.yaml", strings.Replace(other, "negative-bin-stock", "another-rule", 1))
	n.shows("a new rule", func(r *wire.StatusReport) bool {
		return len(r.Rules) == 2 && r.Rules[0].ID == "another-rule" && !r.Rules[0].Verified && r.Rules[1].Stale && r.Rules[1].Verified
	})
	wms.exec(`ALTER TABLE bin_stock ADD COLUMN zone TEXT`)
	var r wire.Reloaded
	if code := n.post("/rules/reload", "", &r); code != http.StatusOK || r.Changed != 1 || r.Kept != 0 || len(r.Problems) != 0 {
		t.Errorf("%d %+v", code, r)
	}
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'B-02', 'S1', -3, 'Z')`)
	p := n.await(nil, 4)
	if !slices.ContainsFunc(p.Notices, func(one noticeJSON) bool { return one.Rule == "negative-bin-stock" && one.Title == "New B-02" }) {
		t.Errorf("%+v", p.Notices)
	}
}
