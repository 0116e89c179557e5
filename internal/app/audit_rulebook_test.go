package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// A changed rule file is recorded once in the cluster, and so is a start with other rules.
func TestRuleFilesAreRecorded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sqliteWMS()
	s.rule("stock.yaml", stockRule)
	n := s.start("one")
	has := func(via, holds string) {
		t.Helper()
		testenv.Eventually(t, func() bool {
			list := n.audit("rules")
			return len(list) > 0 && list[0].Via == via && list[0].By == "node:one" && strings.Contains(string(list[0].After), holds)
		}, 20*time.Second)
	}
	has("start", `"rules":1`)
	s.rule("stock.yaml", strings.Replace(stockRule, "when: qty < 0", "when: qty < -1", 1))
	has("file", `"changed":["negative-bin-stock"]`)
	if list := n.audit("rules"); len(list) != 2 || len(list[0].Before) == 0 {
		t.Errorf("recorded %+v", list)
	}
	n.stop()
	n = s.start("one")
	if list := n.audit("rules"); len(list) != 2 {
		t.Errorf("a start with the same rules left a record: %+v", list[0])
	}
	if list := n.audit("types"); len(list) != 1 || list[0].Action != "type.seed" {
		t.Errorf("the types of the file: %+v", list)
	}
}

// Rule files whose change cannot be recorded are not in force. The last good version runs, and the status says why. The
// new files come into force as soon as they can be recorded.
func TestRuleFilesThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sqliteWMS()
	s.rule("stock.yaml", stockRule)
	n := s.start("one")
	has := func(rules int, faulty bool) func(r *wire.StatusReport) bool {
		return func(r *wire.StatusReport) bool {
			var fault string
			for _, h := range r.Health {
				if h.Part == "rules" {
					fault = h.Error
				}
			}
			return len(r.Rules) == rules && (fault != "") == faulty && strings.Contains(fault, "disk full") == faulty
		}
	}
	n.shows("in force", func(r *wire.StatusReport) bool { return has(1, false)(r) && r.Rules[0].LastRun != nil })
	s.refuseRecords(true)
	s.rule("more.yaml", strings.Replace(stockRule, "negative-bin-stock", "another-rule", 1))
	n.shows("not recorded", has(1, true))
	if code := n.post("/rules/reload", "", nil); code != http.StatusServiceUnavailable {
		t.Errorf("a reload that cannot be recorded answers %d", code)
	}
	if code, body := n.do(http.MethodGet, "/readyz", "application/json", ""); code != http.StatusOK {
		t.Errorf("the last good rules run: %d %s", code, body)
	}
	before := n.rule("negative-bin-stock").LastRun.Due
	n.shows("the last good version runs", func(r *wire.StatusReport) bool { return has(1, true)(r) && r.Rules[0].LastRun.Due.After(before) })
	s.refuseRecords(false)
	n.shows("recorded", has(2, false))
	if list := n.audit("rules"); len(list) != 2 || list[0].Via != "file" || !strings.Contains(string(list[0].After), `"added":["another-rule"]`) {
		t.Errorf("recorded %+v", list)
	}
	n.stop()

	// A start that cannot be recorded runs no rules.
	s.rule("third.yaml", strings.Replace(stockRule, "negative-bin-stock", "third-rule", 1))
	s.refuseRecords(true)
	n = s.start("one")
	n.shows("not started", has(3, true))
	if code, _ := n.do(http.MethodGet, "/readyz", "application/json", ""); code != http.StatusServiceUnavailable || n.rule("third-rule").LastRun != nil || n.rule("third-rule").Verified {
		t.Errorf("%d %+v", code, n.rule("third-rule"))
	}
	s.refuseRecords(false)
	n.shows("started", func(r *wire.StatusReport) bool { return has(3, false)(r) && n.rule("third-rule").LastRun != nil })
	if list := n.audit("rules"); len(list) != 3 || list[0].Via != "start" {
		t.Errorf("recorded %+v", list)
	}
}

// Three nodes read the same files. The start and each change have one record, also when a change is undone and made
// again.
func TestRuleFilesAreRecordedOnceInTheCluster(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.realServers()
	s.postgresWMS()
	s.rule("stock.yaml", auditRule)
	var nodes []*node
	for _, name := range []string{"one", "two", "three"} {
		nodes = append(nodes, s.start(name))
	}
	const changes = 9
	for i := range changes {
		s.rule("stock.yaml", strings.Replace(auditRule, "when: qty < 0", fmt.Sprint("when: qty < -", (i+1)%2), 1))
		testenv.Eventually(t, func() bool { return len(nodes[0].audit("rules")) == i+2 }, 20*time.Second)
		versions := map[string]bool{}
		testenv.Eventually(t, func() bool {
			clear(versions)
			for _, n := range nodes {
				versions[n.ruleVersion()] = true
			}
			return len(versions) == 1 && versions[nodes[0].recordedVersion()]
		}, 20*time.Second)
	}
	list := nodes[0].audit("rules")
	if len(list) != changes+1 {
		t.Errorf("%d changes left %d records", changes, len(list)-1)
	}
	for i := range list[:changes] {
		if before, after := versionIn(list[i].Before), versionIn(list[i+1].After); before != after || before == versionIn(list[i].After) {
			t.Errorf("a record begins with %s, the one before ends with %s", before, after)
		}
	}
}

// ruleVersion returns the version of the rules that the node runs.
func (n *node) ruleVersion() string {
	n.t.Helper()
	_, body := n.do(http.MethodGet, "/api/v1/rules", "application/json", "")
	return versionIn(json.RawMessage(body))
}

// recordedVersion returns the last recorded version.
func (n *node) recordedVersion() string {
	n.t.Helper()
	return versionIn(n.audit("rules")[0].After)
}

func versionIn(state json.RawMessage) string {
	var v struct{ Version string }
	_ = json.Unmarshal(state, &v) // "" where there is none
	return v.Version
}
