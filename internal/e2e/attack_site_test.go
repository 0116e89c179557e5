package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/testenv"
)

// attackSecret signs the JWTs of the site under attack.
const attackSecret = "0123456789abcdef0123456789abcdef"

const attackConfig = `
http: {listen: "127.0.0.1:0"}
auth:
  mode: token
  jwt: {secret: %q, audience: tallyman, claims: {subject: sub, roles: roles}, access: [client], warehouses: ["W1"]}
redis: {url: %q}
ledger: {url: %q}
rules: {paths: [rules]}
types: {path: types.yaml}
sources:
  wms: {driver: postgres, url: %q, statement_timeout: 20s}
sinks:
  inbox: {type: inbox}
  work: {type: queue, lease: 1m}
`

// ownGateway is a sink whose address leads, by ISATAP, to the machine itself.
const ownGateway = "  gateway: {type: webhook, url: \"http://[2a00::5efe:7f00:1]:9/\"}\n"

// attackRule has no firing while the test runs: drafts take its place.
const attackRule = `
version: 1
rules:
  - id: bins
    source: wms
    schedule: {cron: "0 0 1 1 *"}
    probe: {sql: "SELECT wh_id, bin_code FROM bin_stock WHERE qty < 0"}
    key: [wh_id, bin_code]
    notice: {type: REP_NOTICE, warehouse: wh_id, title: "Bin {{ .bin_code }}", fields: {bin: bin_code}}
    deliver: [{sink: inbox}]
`

// attackedSite is one node behind tokens, and a WMS whose role has the grants of docs/how-to/set-up-a-source.md.
type attackedSite struct {
	t      *testing.T
	n      *node
	dir    string    // of the node's configuration
	wms    *pgx.Conn // the database's owner
	victim *pgx.Conn // another session of the role that probes have
	driver string    // of database/sql, for the ledger at dsn
	dsn    string
	tokens map[string]string // by the name that the test gives to a caller
}

func newAttackedSite(t *testing.T, small bool) *attackedSite {
	t.Helper()
	dir := t.TempDir()
	s := &attackedSite{t: t, dir: dir, tokens: map[string]string{}}
	wmsURL := testenv.Postgres(t)
	s.wms = s.connect(wmsURL)
	role := "probe_" + strconv.Itoa(os.Getpid()) + "_" + strconv.FormatBool(small)
	s.exec(`CREATE TABLE bin_stock (wh_id TEXT NOT NULL, bin_code TEXT NOT NULL, qty BIGINT NOT NULL);
		INSERT INTO bin_stock VALUES ('W1', 'A-01', -1);
		CREATE ROLE ` + role + ` LOGIN;
		CREATE VIEW killer AS SELECT pg_terminate_backend(pid) AS gone FROM pg_stat_activity WHERE usename = '` + role + `' AND pid <> pg_backend_pid();
		CREATE FUNCTION kill() RETURNS boolean LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (SELECT bool_or(gone) FROM killer); END $$;
		GRANT SELECT ON bin_stock, killer TO ` + role + `;
		ALTER ROLE ` + role + ` SET default_transaction_read_only = on`)
	t.Cleanup(func() {
		_ = s.victim.Close(t.Context())
		s.exec(`DROP OWNED BY ` + role + `; DROP ROLE ` + role)
	})
	probeURL := strings.Replace(wmsURL, "postgres://postgres@", "postgres://"+role+"@", 1)
	s.victim = s.connect(probeURL)

	file := filepath.Join(dir, "ledger.db")
	redisURL, ledgerURL := "embedded", "sqlite:"+file
	s.driver, s.dsn = "sqlite", "file:"+file+"?_pragma=busy_timeout(10000)"
	if !small {
		redisURL, ledgerURL = testenv.Redis(t).URL(), testenv.Postgres(t)
		s.driver, s.dsn = "pgx", ledgerURL
	}
	for name, text := range map[string]string{
		configFile:        fmt.Sprintf(attackConfig, attackSecret, redisURL, ledgerURL, probeURL),
		"types.yaml":      typesText,
		"rules/bins.yaml": attackRule,
	} {
		s.write(dir, name, text)
	}
	if out, err := s.command(dir, "migrate", "up"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	admin, err := s.command(dir, "tokens", "create", "--subject", "user:root", "--access", "admin", "--warehouse", "*")
	if err != nil {
		t.Fatalf("%v: %s", err, admin)
	}
	s.tokens["admin"] = admin
	s.n = start(t, dir, "attacked")
	for name, ask := range map[string]string{
		"operator": `{"subject":"user:olga","access":["operator"],"warehouses":["*"]}`,
		"service":  `{"subject":"service:wms","access":["service","producer"],"warehouses":["W1"]}`,
		"viewer":   `{"subject":"user:vera","access":["viewer"],"warehouses":["W1"]}`,
		"worker":   `{"subject":"user:wanda","access":["worker","producer"],"warehouses":["W1"]}`,
		"other":    `{"subject":"user:otto","access":["worker","producer","client"],"warehouses":["W2"]}`,
		"mate":     `{"subject":"user:mia","access":["worker"],"warehouses":["W2"]}`,
	} {
		var made struct{ Secret string }
		s.ok("admin", http.MethodPost, "/tokens", ask, &made)
		s.tokens[name] = made.Secret
	}
	return s
}

func (s *attackedSite) connect(address string) *pgx.Conn {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func (s *attackedSite) exec(sql string) {
	s.t.Helper()
	if _, err := s.wms.Exec(context.Background(), sql); err != nil {
		s.t.Error(err)
	}
}

// reply is what the node answers.
type reply struct {
	status int
	text   string
}

func (r reply) code() string {
	var p struct{ Code string }
	_ = json.Unmarshal([]byte(r.text), &p)
	return p.Code
}

// ask sends a request as the caller. Each header is "Name: value".
func (s *attackedSite) ask(caller, method, path, body string, headers ...string) reply {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.n.base+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	token, isNamed := s.tokens[caller]
	if !isNamed {
		token = caller
	}
	req.Header.Set("Authorization", "Bearer "+token)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	resp, err := client.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{resp.StatusCode, string(text)}
}

// ok sends a request that the node must grant.
func (s *attackedSite) ok(caller, method, path, body string, answer any) {
	s.t.Helper()
	r := s.ask(caller, method, path, body)
	if r.status >= http.StatusBadRequest {
		s.t.Fatalf("%s %s by %s: %d %s", method, path, caller, r.status, r.text)
	}
	if answer != nil {
		if err := json.Unmarshal([]byte(r.text), answer); err != nil {
			s.t.Fatalf("%s %s: %v: %s", method, path, err, r.text)
		}
	}
}

// refused sends a request that the node must refuse with a 4xx problem, and changes nothing by it.
func (s *attackedSite) refused(caller, method, path, body string, headers ...string) reply {
	s.t.Helper()
	before := s.audits()
	r := s.ask(caller, method, path, body, headers...)
	what := body[:min(len(body), 120)]
	if r.status < http.StatusBadRequest || r.status >= http.StatusInternalServerError || r.code() == "" {
		s.t.Errorf("%s %s %s: %d %.300s", method, path, what, r.status, r.text)
	}
	if after := s.audits(); after != before {
		s.t.Errorf("%s %s %s: the audit had %s and has %s", method, path, what, before, after)
	}
	return r
}

// audits is the latest record of the audit.
func (s *attackedSite) audits() string {
	s.t.Helper()
	var page struct {
		Changes []struct{ ID json.RawMessage } `json:"changes"`
	}
	s.ok("admin", http.MethodGet, "/audit?limit=1", "", &page)
	if len(page.Changes) == 0 {
		return ""
	}
	return string(page.Changes[0].ID)
}

// serves checks that the node still serves other warehouses, soon.
func (s *attackedSite) serves() {
	s.t.Helper()
	began := time.Now()
	s.ok("other", http.MethodGet, "/notices", "", nil)
	if took := time.Since(began); took > 5*time.Second {
		s.t.Errorf("a poll of another warehouse took %s", took)
	}
}

func (s *attackedSite) send(members string) reply {
	s.t.Helper()
	return s.refused("service", http.MethodPost, "/notices", `{"notices":[{"type":"REP_NOTICE","warehouse":"W1",`+members+`}]}`)
}

func (s *attackedSite) write(dir, name, text string) {
	s.t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// command runs the program on the configuration in a folder, for startWithin at most, and returns what it has printed;
// where it ends well, that is what it has printed to standard output alone.
func (s *attackedSite) command(dir string, args ...string) (string, error) {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), startWithin)
	defer stop()
	cmd := exec.CommandContext(ctx, os.Args[0], append(args, "--config", filepath.Join(dir, configFile))...)
	cmd.Env = append(os.Environ(), childNode+"=command")
	in, err := cmd.StdinPipe() // the process ends with its input
	if err != nil {
		s.t.Fatal(err)
	}
	defer in.Close()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String() + errs.String(), err
	}
	return strings.TrimSpace(out.String()), nil
}
