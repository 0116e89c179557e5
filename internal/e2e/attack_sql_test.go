package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// doingMore are probes that do more than read rows of the rule's tables, and the codes of their problems. A file with a
// problem sql_* is refused without its source; probe_function is what the source's database says of the probe.
var doingMore = []struct{ sql, code string }{
	{`SELECT U&"pg\005fterminate\005fbackend"(pid)::text AS a FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()`, "sql_escaped"},
	{`SELECT word AS a FROM ts_stat('SELECT to_tsvector(pg_terminate_backend(pid)::text) FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()')`, "sql_function"},
	{`SELECT U&"pg\005flogical\005femit\005fmessage"(true, 'x', repeat('x', 38000000))::text AS a`, "sql_escaped"},
	{`SELECT lo_create(0)::text AS a`, "sql_function"},
	{`SELECT query_to_xml('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()', true, true, '')::text AS a`, "sql_function"},
	{`SELECT a.x AS a INTO public.copy FROM (SELECT 'x' AS x) a`, "sql_writes"},
	{`SELECT bin_code AS a FROM public.bin_stock FOR UPDATE`, "sql_locks"},
	{`SELECT /*!50000 SLEEP(9) */ 'x' AS a`, "sql_not_select"},
	{`SELECT set_config('default_transaction_read_only', 'off', false) AS a`, "sql_session"},
	{`SELECT pg_read_file('/etc/passwd') AS a`, "sql_function"},
	{`SELECT bin_code AS a FROM bin_stock WHERE (SELECT bool_or(gone) FROM killer)`, "probe_function"},
	{`SELECT bin_code AS a FROM bin_stock WHERE kill()`, "probe_function"},
	{`SELECT bin_code AS a FROM bin_stock WHERE pg_sleep(9) IS NOT NULL`, "probe_function"},
}

// The probe of an honest rule, and one whose only row has a cell of 64 MB.
const (
	honestProbe = `SELECT bin_code AS a FROM bin_stock`
	hugeProbe   = `SELECT repeat('x', 64000000) AS a`
)

// ruleEntry is a rule with the probe, as an entry of a rule file.
func ruleEntry(id, sql string) string {
	return fmt.Sprintf("- id: %s\n  source: wms\n  schedule: {cron: \"0 0 1 1 *\"}\n  probe: {sql: %q}\n  key: [a]\n"+
		"  notice: {type: REP_NOTICE, warehouse: '\"W1\"', title: x}\n  deliver: [{sink: inbox}]\n", id, sql)
}

func (s *attackedSite) draft(sql string) reply {
	s.t.Helper()
	rule, err := json.Marshal(map[string]any{"text": ruleEntry("bins", sql)})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.ask("operator", http.MethodPost, "/rules/bins/draft", string(rule))
}

func (s *attackedSite) statementsThatDoMore() {
	if r := s.draft(honestProbe); r.status != http.StatusOK || !strings.Contains(r.text, `"preview"`) {
		s.t.Fatalf("an honest draft: %d %s", r.status, r.text)
	}
	s.leavesTheWMS(func() {
		for _, attack := range doingMore {
			if r := s.draft(attack.sql); r.status != http.StatusOK || strings.Contains(r.text, `"preview"`) || !strings.Contains(r.text, `"code":"`+attack.code+`"`) {
				s.t.Errorf("%s: %d %s", attack.sql, r.status, r.text)
			}
		}
	})
}

// leavesTheWMS checks that attacks neither write to the WMS nor end another session of the role.
func (s *attackedSite) leavesTheWMS(attacks func()) {
	s.t.Helper()
	position := func() (bytes, objects int64) {
		if err := s.wms.QueryRow(s.t.Context(),
			`SELECT pg_current_wal_lsn() - '0/0', (SELECT count(*) FROM pg_largeobject_metadata)`).Scan(&bytes, &objects); err != nil {
			s.t.Fatal(err)
		}
		return bytes, objects
	}
	log, _ := position()
	attacks()
	if _, err := s.victim.Exec(s.t.Context(), `SELECT 1`); err != nil {
		s.t.Errorf("another session of the role: %v", err)
	}
	if now, objects := position(); now-log > 20<<20 || objects != 0 { // an attack writes 38 MB; the other node's ledger is on the same server
		s.t.Errorf("the WMS has written %d bytes of WAL and has %d large objects", now-log, objects)
	}
}

// previewsThatDoMore tries rules with such probes: as the node has them in its files, and with `rules preview` and
// `rules test --source`.
func (s *attackedSite) previewsThatDoMore() {
	defer s.withRule("honest", honestProbe)()
	if r := s.preview("honest"); r.status != http.StatusOK || r.outcome() != "ok" {
		s.t.Fatalf("an honest preview: %d %s", r.status, r.text)
	}
	for name, run := range s.previewCommands() {
		if out, err := run("honest"); err != nil {
			s.t.Fatalf("%s of an honest rule: %v: %s", name, err, out)
		}
	}
	s.leavesTheWMS(func() {
		for i, attack := range doingMore {
			id := "attack-" + strconv.Itoa(i)
			remove := s.withRule(id, attack.sql)
			r := s.preview(id)
			inFile := strings.HasPrefix(attack.code, "sql_")
			if inFile && r.code() != "rule_not_found" || !inFile && (r.code() != "rule_unverified" || !strings.Contains(r.text, attack.code)) {
				s.t.Errorf("%s: %d %s", attack.sql, r.status, r.text)
			}
			for name, run := range s.previewCommands() {
				if out, err := run(id); err == nil || !strings.Contains(out, attack.code+": ") {
					s.t.Errorf("%s: %s: %v: %s", name, attack.sql, err, out)
				}
			}
			remove()
		}
	})
}

// previewCommands are the commands that run the probe of a rule, by their names.
func (s *attackedSite) previewCommands() map[string]func(id string) (string, error) {
	return map[string]func(string) (string, error){
		"rules preview": func(id string) (string, error) { return s.command(s.dir, "rules", "preview", id) },
		"rules test":    s.testRule,
	}
}

// withRule gives the node a rule in a file of its own until remove is called.
func (s *attackedSite) withRule(id, sql string) (remove func()) {
	s.t.Helper()
	name := "rules/" + id + ".yaml"
	s.write(s.dir, name, "version: 1\nrules:\n"+ruleEntry(id, sql))
	s.ok("operator", http.MethodPost, "/rules/reload", "", nil)
	return func() {
		if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
			s.t.Error(err)
		}
		s.ok("operator", http.MethodPost, "/rules/reload", "", nil)
	}
}

func (s *attackedSite) preview(id string) reply {
	s.t.Helper()
	return s.ask("operator", http.MethodPost, "/rules/"+id+"/preview", "")
}

// outcome is that of the run that a preview has made.
func (r reply) outcome() string {
	var p struct{ Outcome string }
	_ = json.Unmarshal([]byte(r.text), &p)
	return p.Outcome
}

// testRule runs a test of the rule with `rules test --source`: its probe runs on the WMS, with a table that the test
// stages.
func (s *attackedSite) testRule(id string) (string, error) {
	s.t.Helper()
	s.write(s.dir, "tests/"+id+"_test.yaml", fmt.Sprintf("rules: ../rules/%s.yaml\ntests:\n  - name: x\n    rule: %s\n    start: 2026-06-01T08:00:00Z\n    steps:\n"+
		"      - {at: 0m, tables: {bin_stock: [{wh_id: W1, bin_code: A-01, qty: -1}]}, expect: {rows: 1}}\n", id, id))
	return s.command(s.dir, "rules", "test", filepath.Join(s.dir, "tests", id+"_test.yaml"), "--source", "wms")
}

// hugeCell measures the process of the node while it tries a draft and a preview.
func (s *attackedSite) hugeCell() {
	rss := func(field string) int {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.n.cmd.Process.Pid))
		if err != nil {
			s.t.Skip("the memory of a process is not known here")
		}
		_, after, _ := strings.Cut(string(text), field+":")
		kB, err := strconv.Atoi(strings.Fields(after)[0])
		if err != nil {
			s.t.Fatal(err)
		}
		return kB >> 10
	}
	defer s.withRule("huge", hugeProbe)()
	before := rss("VmHWM")
	for name, r := range map[string]reply{"draft": s.draft(hugeProbe), "preview": s.preview("huge")} {
		if r.status != http.StatusOK || !strings.Contains(r.text, `"outcome":"failed"`) || strings.Contains(r.text, strings.Repeat("x", 1000)) {
			s.t.Errorf("%s: %d %.300s", name, r.status, r.text)
		}
	}
	if grown := rss("VmHWM") - before; grown > 150 {
		s.t.Errorf("the process has grown by %d MB", grown)
	}
	if out, err := s.command(s.dir, "rules", "preview", "huge"); err == nil || strings.Contains(out, strings.Repeat("x", 1000)) {
		s.t.Errorf("rules preview: %v: %.300s", err, out)
	}
}
