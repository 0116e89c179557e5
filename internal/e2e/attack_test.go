package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"tallyman/internal/ledger/ledgertest"
)

// An attack of each kind is made on a running node, once with PostgreSQL and a Redis server, once with SQLite and the embedded Redis.
func TestAttacksAreRefused(t *testing.T) {
	t.Parallel()
	for _, ledger := range []string{"postgres", "sqlite"} {
		t.Run(ledger, func(t *testing.T) {
			t.Parallel()
			s := newAttackedSite(t, ledger == "sqlite")
			for name, attack := range map[string]func(*attackedSite){
				"members of another case":         (*attackedSite).membersOfAnotherCase,
				"values beyond the bounds":        (*attackedSite).valuesBeyondTheBounds,
				"parameters that come twice":      (*attackedSite).parametersThatComeTwice,
				"characters that break displays":  (*attackedSite).charactersThatBreakDisplays,
				"changes without a record":        (*attackedSite).changesWithoutARecord,
				"a caller that says it is a CLI":  (*attackedSite).callerThatSaysItIsACLI,
				"statements that do more":         (*attackedSite).statementsThatDoMore,
				"previews that do more":           (*attackedSite).previewsThatDoMore,
				"a huge cell":                     (*attackedSite).hugeCell,
				"items of another warehouse":      (*attackedSite).itemsOfAnotherWarehouse,
				"leases of another worker":        (*attackedSite).leasesOfAnotherWorker,
				"comments of another warehouse":   (*attackedSite).commentsOfAnotherWarehouse,
				"a cursor of another warehouse":   (*attackedSite).cursorOfAnotherWarehouse,
				"a JWT that is a service":         (*attackedSite).jwtThatIsAService,
				"a webhook into the own network":  (*attackedSite).webhookIntoTheOwnNetwork,
				"sockets that nobody has ordered": (*attackedSite).socketsThatNobodyOrdered,
			} {
				t.Run(name, func(t *testing.T) {
					attacked := *s
					attacked.t = t
					attack(&attacked)
					attacked.serves()
				})
			}
		})
	}
}

func (s *attackedSite) membersOfAnotherCase() {
	names := make([]string, 400_000)
	for i := range names {
		names[i] = `"user:` + strconv.Itoa(i) + `"`
	}
	for _, members := range []string{
		`"data":{"bin":"A"},"recipients":["user:a"],"Recipients":[` + strings.Join(names, ",") + `]`,
		`"data":{"bin":"A"},"priority":3,"Priority":99`,
		`"data":{"bin":"A"},"priority":3,"priority":99`,
		`"data":{"bin":"A","bin":"B"}`,
		`"title":"a","body":"b","BODY":"` + strings.Repeat("x", 7_900_000) + `"`,
	} {
		r := s.send(members)
		if !strings.Contains(strings.ToLower(r.text), "body.notices[0].") {
			s.t.Errorf("%.80s: no place in %s", members, r.text)
		}
	}
	list := strings.Repeat(`{"type":"REP_NOTICE","warehouse":"W1","title":"x"},`, 5_000)
	s.refused("service", http.MethodPost, "/notices", `{"notices":[{"type":"REP_NOTICE","warehouse":"W1","title":"x"}],"Notices":[`+strings.TrimSuffix(list, ",")+`]}`)
	s.refused("operator", http.MethodPost, "/subscriptions",
		`{"type":"REP_NOTICE","warehouse":"W1","subscriber":"user:decoy","Subscriber":"user:mallory"}`)
	var list2 struct {
		Subscriptions []struct{ Subscriber string }
	}
	s.ok("operator", http.MethodGet, "/subscriptions", "", &list2)
	if len(list2.Subscriptions) != 0 {
		s.t.Errorf("subscriptions: %+v", list2.Subscriptions)
	}
}

func (s *attackedSite) valuesBeyondTheBounds() {
	for _, members := range []string{
		`"data":{"bin":"A"},"priority":99`,
		`"title":"x","body":"` + strings.Repeat("x", 7_900_000) + `"`,
		`"title":"x","recipients":[` + strings.TrimSuffix(strings.Repeat(`"user:a",`, 5_000), ",") + `]`,
	} {
		s.send(members)
	}
	list := strings.Repeat(`{"type":"REP_NOTICE","warehouse":"W1","title":"x"},`, 5_000)
	s.refused("service", http.MethodPost, "/notices", `{"notices":[`+strings.TrimSuffix(list, ",")+`]}`)
}

func (s *attackedSite) parametersThatComeTwice() {
	s.refused("admin", http.MethodGet, "/notices?subscriber=user:a&warehouse=W1&warehouse=W2", "")
	s.refused("admin", http.MethodGet, "/audit?by=a&by=b", "")
	s.refused("operator", http.MethodPost, "/rules/bins/disable?scope=&scope=x", `{}`)
	s.refused("operator", http.MethodGet, "/me", "", "Authorization: Bearer "+s.tokens["viewer"])
	s.refused("service", http.MethodPost, "/notices", `{"notices":[{"type":"REP_NOTICE","warehouse":"W1","title":"x","recipients":["user:a"]}]}`,
		"Idempotency-Key: a", "Idempotency-Key: b")
}

func (s *attackedSite) charactersThatBreakDisplays() {
	for _, c := range []string{`\u0000`, `\u0007`, `\u007f`, `\u0085`, `\u009b`, `\u202e`, `\u2066`, `\ud800`} {
		s.send(`"title":"a` + c + `b"`)
		s.refused("operator", http.MethodPost, "/rules/bins/disable", `{"reason":"a`+c+`b"}`)
		s.refused("operator", http.MethodPost, "/silences", `{"matchers":["rule=bins"],"for":"2h","comment":"a`+c+`b"}`)
		s.refused("operator", http.MethodPut, "/types/REP_NOTICE", `{"code":"REP_NOTICE","id":1,"name":"a`+c+`b"}`)
	}
	s.refused("operator", http.MethodPost, "/rules/bins/disable", "{\"reason\":\"a\xffb\"}")
	s.refused("operator", http.MethodDelete, "/queues/work/items/x?note="+url.QueryEscape("a\x00b"), "")
	s.refused("admin", http.MethodGet, "/audit?by="+url.QueryEscape("\u202e"), "")
}

// changesWithoutARecord makes the ledger refuse every record.
func (s *attackedSite) changesWithoutARecord() {
	ledgertest.RefuseRecords(s.t, s.driver, s.dsn, true)
	for _, one := range []struct{ method, path, body string }{
		{http.MethodPost, "/rules/bins/disable", `{"reason":"x"}`},
		{http.MethodPost, "/silences", `{"matchers":["rule=bins"],"for":"2h","comment":"unrecorded"}`},
		{http.MethodPost, "/subscriptions", `{"type":"REP_NOTICE","warehouse":"W1","subscriber":"user:a"}`},
		{http.MethodPost, "/types", `{"code":"NEW_NOTICE","id":77,"name":"New"}`},
		{http.MethodPut, "/subscribers/user:a", `{"name":"Unrecorded"}`},
	} {
		if r := s.ask("operator", one.method, one.path, one.body); r.status != http.StatusServiceUnavailable || r.code() != "audit_unavailable" {
			s.t.Errorf("%s: %d %s", one.path, r.status, r.text)
		}
	}
	ledgertest.RefuseRecords(s.t, s.driver, s.dsn, false)
	for path, mark := range map[string]string{
		"/rules/bins": `"disabled"`, "/silences": "unrecorded", "/subscriptions": "user:a", "/types": "NEW_NOTICE", "/subscribers": "Unrecorded",
	} {
		if r := s.ask("operator", http.MethodGet, path, ""); r.status != http.StatusOK || strings.Contains(r.text, mark) {
			s.t.Errorf("%s: %d %s", path, r.status, r.text)
		}
	}
}

func (s *attackedSite) callerThatSaysItIsACLI() {
	r := s.ask("operator", http.MethodPut, "/subscribers/user:cli", `{"name":"Ann"}`, "User-Agent: tallyman-cli/1.0")
	if r.status >= http.StatusBadRequest {
		s.t.Fatal(r)
	}
	var page struct {
		Changes []struct{ By, Via, Object string } `json:"changes"`
	}
	s.ok("admin", http.MethodGet, "/audit?limit=1", "", &page)
	if len(page.Changes) != 1 || page.Changes[0].Object != "subscriber:user:cli" || page.Changes[0].By != "user:olga" || page.Changes[0].Via == "cli" {
		s.t.Errorf("%+v", page.Changes)
	}
}

// doingMore are probes that do more than read rows of the rule's tables, and the codes of their problems. A file with a problem sql_* is refused without
// its source; probe_function is what the source's database says of the probe.
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

// The probe of an honest rule, and one whose only row has a cell of 200 MB.
const (
	honestProbe = `SELECT bin_code AS a FROM bin_stock`
	hugeProbe   = `SELECT repeat('x', 200000000) AS a`
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
	if now, objects := position(); now-log > 4<<20 || objects != 0 {
		s.t.Errorf("the WMS has written %d bytes of WAL and has %d large objects", now-log, objects)
	}
}

// previewsThatDoMore tries rules with such probes: as the node has them in its files, and with `rules preview` and `rules test --source`.
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

// testRule runs a test of the rule with `rules test --source`: its probe runs on the WMS, with a table that the test stages.
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

func (s *attackedSite) push(caller, warehouse, id string) {
	s.t.Helper()
	s.ok(caller, http.MethodPost, "/queues/work/items", fmt.Sprintf(`{"items":[{"id":%q,"warehouse":%q,"payload":{"secret":"of %s"}}]}`, id, warehouse, warehouse), nil)
}

func (s *attackedSite) itemsOfAnotherWarehouse() {
	s.push("other", "W2", "foreign-1")
	s.refused("worker", http.MethodPost, "/queues/work/items", `{"items":[{"id":"x","warehouse":"W2","payload":{}}]}`)
	for _, path := range []string{"/queues/work/items?state=ready", "/queues/work/items/foreign-1", "/queues/work/items/foreign-1/rank", "/queues/work", "/queues"} {
		if r := s.ask("worker", http.MethodGet, path, ""); strings.Contains(r.text, "foreign-1\"") || strings.Contains(r.text, "of W2") {
			s.t.Errorf("%s shows %s", path, r.text)
		}
	}
	var got struct{ Items []struct{ ID string } }
	s.ok("worker", http.MethodPost, "/queues/work/lease", `{"worker":"scanner-1","max":100}`, &got)
	if len(got.Items) != 0 {
		s.t.Errorf("leased %+v", got.Items)
	}
	s.ok("other", http.MethodPost, "/queues/work/lease", `{"worker":"scanner-2","max":100}`, &got)
	if len(got.Items) != 1 {
		s.t.Fatalf("its own warehouse leased %+v", got.Items)
	}
	s.refused("worker", http.MethodPost, "/queues/work/items/foreign-1/ack", `{"attempt":1}`)
	s.ok("other", http.MethodPost, "/queues/work/items/foreign-1/ack", `{"attempt":1}`, nil)
}

func (s *attackedSite) leasesOfAnotherWorker() {
	s.push("other", "W2", "leased-1")
	var got struct{ Items []struct{ ID string } }
	ask := `{"worker":"scanner-2","max":1,"requestId":"r-4711"}`
	s.ok("other", http.MethodPost, "/queues/work/lease", ask, &got)
	if len(got.Items) != 1 {
		s.t.Fatalf("%+v", got)
	}
	for _, caller := range []string{"worker", "mate"} {
		if r := s.ask(caller, http.MethodPost, "/queues/work/lease", ask); strings.Contains(r.text, "leased-1") {
			s.t.Errorf("%s is given %s", caller, r.text)
		}
	}
	s.ok("other", http.MethodPost, "/queues/work/lease", ask, &got)
	if len(got.Items) != 1 || got.Items[0].ID != "leased-1" {
		s.t.Errorf("who asks again is given %+v", got)
	}
	s.ok("other", http.MethodPost, "/queues/work/items/leased-1/ack", `{"attempt":1}`, nil)
}

func (s *attackedSite) commentsOfAnotherWarehouse() {
	var made struct{ ID string }
	s.ok("operator", http.MethodPost, "/silences", `{"matchers":["warehouse=W2"],"for":"2h","comment":"of nobody else"}`, &made)
	for _, path := range []string{"/silences", "/silences/" + made.ID, "/rules", "/rules/bins", "/overview", "/status", "/deliveries"} {
		if r := s.ask("viewer", http.MethodGet, path, ""); strings.Contains(r.text, "of nobody else") {
			s.t.Errorf("%s shows %s", path, r.text)
		}
	}
	s.ok("operator", http.MethodPost, "/silences/"+made.ID+"/expire", ``, nil)
}

func (s *attackedSite) cursorOfAnotherWarehouse() {
	var page struct{ Cursor string }
	s.ok("admin", http.MethodGet, "/notices?warehouse=W2&subscriber=user:a", "", &page)
	s.refused("service", http.MethodPost, "/notices/read-all", fmt.Sprintf(`{"warehouse":"W1","upTo":%q,"subscribers":["user:a"]}`, page.Cursor))
}

func (s *attackedSite) jwtThatIsAService() {
	for _, subject := range []string{"service:wms", "user:root", "rule:bins", "local:root"} {
		text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
			"sub": subject, "aud": "tallyman", "exp": time.Now().Add(time.Hour).Unix(),
		}).SignedString([]byte(attackSecret))
		if err != nil {
			s.t.Fatal(err)
		}
		r := s.ask(text, http.MethodGet, "/me", "")
		var me struct{ Subject string }
		_ = json.Unmarshal([]byte(r.text), &me)
		if r.status == http.StatusOK && me.Subject == subject && subject != "user:root" {
			s.t.Errorf("%s: %s", subject, r.text)
		}
	}
}

// webhookIntoTheOwnNetwork starts a node with such a sink, which must not start.
func (s *attackedSite) webhookIntoTheOwnNetwork() {
	dir := s.t.TempDir()
	config := fmt.Sprintf(attackConfig, attackSecret, "embedded", "sqlite:"+filepath.Join(dir, "ledger.db"), s.victim.Config().ConnString())
	for name, text := range map[string]string{configFile: config + ownGateway, "types.yaml": typesText, "rules/bins.yaml": attackRule} {
		s.write(dir, name, text)
	}
	if out, err := s.command(dir, "migrate", "up"); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	if out, err := s.command(dir, "serve"); err == nil || !strings.Contains(out, "not an address of the public internet") {
		s.t.Errorf("%v: %s", err, out)
	}
}

// socketsThatNobodyOrdered looks which TCP ports the process listens on.
func (s *attackedSite) socketsThatNobodyOrdered() {
	pid := s.n.cmd.Process.Pid
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(links) == 0 {
		s.t.Skip("the sockets of a process are not known here")
	}
	own := map[string]bool{}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil {
			own[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] = true
		}
	}
	var listening []string
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" && own[f[9]] {
				listening = append(listening, f[1])
			}
		}
	}
	if len(listening) != 1 {
		s.t.Errorf("it listens on %v, and not on the API's port alone", listening)
	}
}
