package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// tells is the rule of stock.yaml under another title.
func tells(title string) string {
	return strings.Replace(stockRule, `"Bin {{ .bin_code }} is at {{ .qty }}"`, `"`+title+`"`, 1)
}

// titled is the same rule where the rule itself has a title.
func titled(title string) string {
	return strings.Replace(stockRule, "    source: wms\n", "    source: wms\n    title: "+title+"\n", 1)
}

// shows asks until ok says that the rules are as they should be.
func (n *node) shows(what string, ok func(r *wire.StatusReport) bool) {
	n.t.Helper()
	var last wire.StatusReport
	defer func() {
		if n.t.Failed() {
			n.t.Logf("%s: %+v", what, last)
		}
	}()
	testenv.Eventually(n.t, func() bool {
		last = n.status()
		return ok(&last)
	}, 20*time.Second)
}

func (n *node) post(path, body string, answer any) int {
	n.t.Helper()
	code, text := n.do(http.MethodPost, "/api/v1"+path, "application/json", body)
	if answer != nil && code < 300 {
		n.decode(text, answer)
	}
	return code
}

func (n *node) decode(text string, answer any) {
	n.t.Helper()
	if err := json.Unmarshal([]byte(text), answer); err != nil {
		n.t.Fatalf("%v in %s", err, text)
	}
}

func hasRule(id string) func(*wire.StatusReport) bool {
	return func(r *wire.StatusReport) bool {
		for i := range r.Rules {
			if r.Rules[i].ID == id {
				return true
			}
		}
		return false
	}
}

func not(f func(*wire.StatusReport) bool) func(*wire.StatusReport) bool {
	return func(r *wire.StatusReport) bool { return !f(r) }
}

// A changed, an added, a moved and a removed file are taken in while the node runs; findings go on by the rule's id.
func TestRuleFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wms := s.sqliteWMS()
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	s.rule("stock.yaml", stockRule)
	n := s.start("one")
	first := n.await(nil, 1)

	s.rule("more.yaml", strings.Replace(stockRule, "negative-bin-stock", "another-rule", 1))
	n.shows("added", hasRule("another-rule"))
	n.await(nil, 2)
	s.remove("more.yaml")
	n.shows("removed", not(hasRule("another-rule")))

	s.write("moved.yaml", tells("Look at {{ .bin_code }}")) // beside the folder, and into it by its name alone
	s.rename("moved.yaml", filepath.Join("rules", "stock.yaml"))
	s.rename(filepath.Join("rules", "stock.yaml"), filepath.Join("rules", "renamed.yaml"))
	n.shows("moved", func(r *wire.StatusReport) bool {
		return len(r.Rules) == 1 && strings.HasSuffix(r.Rules[0].File, "renamed.yaml") && r.Rules[0].LastRun != nil && r.Rules[0].Firing == 1
	})
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'B-02', 'S1', -1)`)
	p := n.await(nil, 3)
	if p.Notices[0].ID != first.Notices[0].ID || p.Notices[2].Title != "Look at B-02" {
		t.Errorf("the finding was told again, or the old words: %+v", p.Notices)
	}
}

// A bad file leaves its last good version in force, and shows; a restart would not know that version.
func TestBadRuleFileLeavesTheLastGoodVersion(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wms := s.sqliteWMS()
	s.rule("stock.yaml", stockRule)
	s.rule("other.yaml", strings.Replace(stockRule, "negative-bin-stock", "another-rule", 1))
	n := s.start("one")
	s.rule("stock.yaml", strings.Replace(tells("New"), "when:", "hwen:", 1))
	n.shows("bad", func(r *wire.StatusReport) bool {
		return len(r.Problems) == 1 && strings.HasSuffix(r.Problems[0].File, "stock.yaml") && r.Problems[0].Line > 1 && len(r.Rules) == 2 && r.Rules[1].Stale
	})
	s.remove("other.yaml")
	n.shows("the others are taken in", not(hasRule("another-rule")))
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	if p := n.await(nil, 1); p.Notices[0].Title != "Bin A-01 is at -3" {
		t.Errorf("%+v", p.Notices)
	}
	s.rule("stock.yaml", tells("New"))
	n.shows("mended", func(r *wire.StatusReport) bool { return len(r.Problems) == 0 && !r.Rules[0].Stale })
}

// Kubernetes replaces a mounted ConfigMap by one link, ..data, that the files are links through.
func TestConfigMapIsSwapped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sqliteWMS()
	version := func(name, text string) {
		if err := os.MkdirAll(filepath.Join(s.dir, "rules", name), 0o750); err != nil {
			t.Fatal(err)
		}
		s.rule(filepath.Join(name, "stock.yaml"), text)
		s.link(name, filepath.Join("rules", "..tmp"))
		s.rename(filepath.Join("rules", "..tmp"), filepath.Join("rules", "..data"))
	}
	version("..2026_1", stockRule)
	s.link(filepath.Join("..data", "stock.yaml"), filepath.Join("rules", "stock.yaml"))
	n := s.start("one")
	n.shows("before", hasRule("negative-bin-stock"))
	version("..2026_2", strings.Replace(stockRule, "negative-bin-stock", "from-the-map", 1))
	n.shows("after", func(r *wire.StatusReport) bool { return len(r.Rules) == 1 && r.Rules[0].ID == "from-the-map" })
	if err := os.RemoveAll(filepath.Join(s.dir, "rules", "..2026_1")); err != nil {
		t.Fatal(err)
	}
	version("..2026_3", stockRule)
	n.shows("again", hasRule("negative-bin-stock"))
}

// A folder that is gone for a moment is no folder without rules.
func TestRulesFolderThatIsGone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sqliteWMS()
	s.rule("stock.yaml", stockRule)
	n := s.start("one")
	s.rename("rules", "away")
	n.shows("gone", func(r *wire.StatusReport) bool {
		return len(r.Problems) == 1 && len(r.Rules) == 1 && r.Rules[0].Enabled
	})
	s.rename("away", "rules")
	n.shows("back", func(r *wire.StatusReport) bool { return len(r.Problems) == 0 })
	s.rule("more.yaml", strings.Replace(stockRule, "negative-bin-stock", "another-rule", 1))
	n.shows("it is watched again", hasRule("another-rule"))
}

func TestReloadOnDemand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sqliteWMS()
	hangup := make(chan os.Signal, 1)
	s.hangup = hangup
	s.rule("stock.yaml", stockRule)
	n := s.start("one")
	s.rule("more.yaml", strings.Replace(stockRule, "negative-bin-stock", "another-rule", 1))
	hangup <- os.Interrupt
	n.shows("hangup", hasRule("another-rule"))
	var r wire.Reloaded
	if code := n.post("/rules/reload", "", &r); code != http.StatusOK || r.Files != 2 || r.Rules != 2 || r.Version == "" || len(r.Problems) != 0 {
		t.Errorf("%d %+v", code, r)
	}
}

func (s *site) rename(from, to string) {
	s.t.Helper()
	if err := os.Rename(filepath.Join(s.dir, from), filepath.Join(s.dir, to)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) link(to, name string) {
	s.t.Helper()
	if err := os.Symlink(to, filepath.Join(s.dir, name)); err != nil {
		s.t.Fatal(err)
	}
}

// remove takes a rule file out of the site.
func (s *site) remove(name string) {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.dir, "rules", name)); err != nil {
		s.t.Fatal(err)
	}
}

// A file that was written is in force soon after, whether it is replaced in place or by renaming another over it.
func TestTimeUntilRulesAreInForce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sqliteWMS()
	s.rule("stock.yaml", stockRule)
	n := s.start("one")
	var took []time.Duration
	for i := range 20 {
		title := fmt.Sprintf("Version %d", i)
		began := time.Now()
		if i%2 == 0 {
			s.rule("stock.yaml", titled(title))
		} else {
			s.write("next.yaml", titled(title))
			s.rename("next.yaml", filepath.Join("rules", "stock.yaml"))
		}
		testenv.Eventually(t, func() bool {
			var r wire.RuleForm
			n.get("/rules/negative-bin-stock", &r)
			return r.Title == title
		}, 20*time.Second)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("from writing a rule file to its rules being in force: p50 %v, max %v of %d", took[len(took)/2], took[len(took)-1], len(took))
	if took[len(took)/2] > 2*time.Second {
		t.Errorf("half of them took longer than two seconds: %v", took)
	}
}

// A rule that would not fit its source does not take the place of one that runs; when the source has changed it does. A
// rule that is new is taken in, and verified when it can be.
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
