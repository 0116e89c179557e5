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
	"tallyman/internal/testenv"
)

// An attack of each kind is made on a running node, once with PostgreSQL and a Redis server, once with SQLite and the
// embedded Redis. No other test runs meanwhile: what the database server writes is measured, and a busy machine would
// make a preview of a huge cell time out.
func TestAttacksAreRefused(t *testing.T) { //nolint:tparallel // see above
	testenv.Slow(t)
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

// webhookIntoTheOwnNetwork starts a node with a webhook into the own network. The node must not start.
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

// socketsThatNobodyOrdered checks on which TCP ports the process listens.
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
