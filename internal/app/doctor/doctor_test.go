package doctor

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/docs/codetest"
	"tallyman/internal/app"
	"tallyman/internal/config"
	"tallyman/internal/scaffold"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// siteOf loads a configuration from its text. The folder has a catalogue without types.
func siteOf(t *testing.T, text string) *config.Config {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"site.yaml": text, "types.yaml": "types: []\n", "rules/none.yaml": "version: 1\nrules: []\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := app.LoadConfig(config.Options{File: filepath.Join(dir, "site.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// expect checks the findings that the keys name: CODE or CODE ABOUT. A value is the state and a part of the text.
func expect(t *testing.T, list []Finding, want map[string]string) {
	t.Helper()
	for key, text := range want {
		code, about, _ := strings.Cut(key, " ")
		state, part, _ := strings.Cut(text, " ")
		i := slices.IndexFunc(list, func(f Finding) bool { return f.Code == code && f.About == about })
		if i < 0 {
			t.Errorf("there is no finding %s in %+v", key, list)
			continue
		}
		f := list[i]
		if string(f.State) != state || !strings.Contains(f.Found, part) || (f.WayOut == "") != (f.State == OK || f.State == Skipped) {
			t.Errorf("%s: want %s, got %+v", key, text, f)
		}
	}
}

// TestRolesOfALedger looks at a ledger as each of the roles that tallyman init --sql prints.
func TestRolesOfALedger(t *testing.T) {
	t.Parallel()
	server := testenv.PostgresServer(t)
	server.Shell("psql -v ON_ERROR_STOP=1 -d postgres -c 'CREATE DATABASE wms'; psql -v ON_ERROR_STOP=1 -d wms -c 'CREATE TABLE bin_stock (qty int)'")
	for _, g := range []scaffold.Grants{{Dialect: "postgres", For: scaffold.ForLedger}, {Dialect: "postgres", For: scaffold.ForSource}} {
		script, err := scaffold.SQL(g)
		if err != nil {
			t.Fatal(err)
		}
		server.Shell("psql -v ON_ERROR_STOP=1 -d " + map[scaffold.Purpose]string{scaffold.ForLedger: "postgres", scaffold.ForSource: "wms"}[g.For] + " <<'END OF FILE'\n" + script + "\nEND OF FILE\n")
	}
	site := func(ledger, source string) *config.Config {
		as := func(role, database string) string {
			return strings.Replace(server.URL(database), "postgres@", role+"@", 1)
		}
		return siteOf(t, fmt.Sprintf("http: {listen: \"127.0.0.1:0\"}\nledger: {url: %q}\nsources: {wms: {driver: postgres, url: %q}}\n", as(ledger, "tallyman"), as(source, "wms")))
	}
	expect(t, Examine(t.Context(), site("tallyman_app", "tallyman_probe"), Options{}), map[string]string{
		CodeLedgerReach: "ok PostgreSQL", CodeLedgerSchema: "wrong migrate up",
	})
	if _, err := app.Migrate(t.Context(), site("tallyman_owner", "tallyman_probe"), app.MigrateOptions{}); err != nil {
		t.Fatal(err)
	}
	list := Examine(t.Context(), site("tallyman_app", "tallyman_probe"), Options{Version: "1.2.3"})
	expect(t, list, map[string]string{
		CodeVersion: "ok tallyman 1.2.3", CodeConfig: "ok is fine", CodeListen: "ok is free", CodeTimeZones: "ok",
		CodeLedgerSchema: "ok version 100, the version of this program", CodeLedgerRights: "ok may not change tables", CodeLedgerClock: "ok", CodeRedisReach: "ok loses its data when the process ends",
		CodeSourceReach + " wms": "ok", CodeSourceRights + " wms": "ok may not write", CodeSourceClock + " wms": "ok", CodeSourceZone + " wms": "ok",
	})
	if IsWrong(list) {
		t.Errorf("%+v", list)
	}
	expect(t, Examine(t.Context(), site("tallyman_owner", "postgres"), Options{}), map[string]string{
		CodeLedgerRights: "warning may create tables", CodeSourceRights + " wms": "warning SUPERUSER",
	})
	expect(t, Examine(t.Context(), site("postgres", "tallyman_probe"), Options{}), map[string]string{CodeLedgerRights: "warning superuser"})
	server.Shell(`psql -v ON_ERROR_STOP=1 -d tallyman -c 'REVOKE INSERT, UPDATE, DELETE ON schema_oldest FROM tallyman_app'`)
	expect(t, Examine(t.Context(), site("tallyman_app", "tallyman_probe"), Options{}), map[string]string{CodeLedgerRights: "ok may not change tables"})
	server.Shell(`psql -v ON_ERROR_STOP=1 -d tallyman -c 'REVOKE INSERT ON notices FROM tallyman_app; REVOKE EXECUTE ON FUNCTION ledger_day FROM tallyman_app'
psql -v ON_ERROR_STOP=1 -d wms -c "GRANT UPDATE ON bin_stock TO tallyman_probe; ALTER ROLE tallyman_probe SET timezone = 'Asia/Shanghai'"`)
	expect(t, Examine(t.Context(), site("tallyman_app", "tallyman_probe"), Options{}), map[string]string{
		CodeLedgerRights: "wrong lacks EXECUTE on ledger_day, INSERT on notices", CodeSourceRights + " wms": "warning UPDATE on tables of schema public",
		CodeSourceZone + " wms": "warning Asia/Shanghai",
	})
	server.Stop()
	expect(t, Examine(t.Context(), site("tallyman_app", "tallyman_probe"), Options{}), map[string]string{CodeLedgerReach: "wrong", CodeSourceReach + " wms": "wrong"})
}

func TestRedis(t *testing.T) {
	t.Parallel()
	at := func(url string) []Finding {
		return checkRedis(t.Context(), siteOf(t, "redis: {url: \""+url+"\"}\n"), Options{})
	}
	good := testenv.Redis(t)
	expect(t, at(good.URL()), map[string]string{
		CodeRedisReach: "ok Redis ", CodeRedisPolicy: "ok", CodeRedisMemory: "ok maxmemory is not set", CodeRedisPersistence: "ok append-only file is off", CodeRedisClock: "ok",
	})
	bad := testenv.Redis(t, "--maxmemory", "100kb", "--maxmemory-policy", "allkeys-lru", "--appendonly", "yes")
	expect(t, at(bad.URL()), map[string]string{CodeRedisPolicy: "wrong allkeys-lru", CodeRedisMemory: "wrong are used", CodeRedisPersistence: "ok is on"})
	good.Stop()
	expect(t, at(good.URL()), map[string]string{CodeRedisReach: "wrong refused"})
	expect(t, []Finding{redisPersistence("", map[string]string{"rdb_last_bgsave_status": "err"})}, map[string]string{CodeRedisPersistence: "warning snapshot failed"})
}

// TestSourceCertificate has a MariaDB with a certificate that no authority has signed.
func TestSourceCertificate(t *testing.T) {
	t.Parallel()
	d := testenv.MariaDB(t)
	at := func(options string) []Finding {
		return checkSources(t.Context(), siteOf(t, fmt.Sprintf("sources: {wms: {driver: mysql, url: %q}}\n", d.URL()+options)), Options{})
	}
	expect(t, at("?tls=skip-verify"), map[string]string{CodeSourceReach + " wms": "ok", CodeCertificate + " wms": "ok certificate ends"})
	expect(t, at("?tls=true"), map[string]string{CodeSourceReach + " wms": "wrong certificate"})
	for _, f := range at("") {
		if f.Code == CodeCertificate {
			t.Errorf("without TLS: %+v", f)
		}
	}
}

// TestEndsOfCertificates has a certificate of the API and one of a sink, each with several ends.
func TestEndsOfCertificates(t *testing.T) {
	t.Parallel()
	authority := testenv.NewAuthority(t, "doctor")
	for days, want := range map[int]string{60: "ok in 59 days", 20: "warning in 19 days", 5: "wrong in 4 days"} {
		cert, key := authority.IssueUntil("127.0.0.1", time.Now().Add(time.Duration(days)*24*time.Hour))
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		server.StartTLS()
		t.Cleanup(server.Close)
		dir := t.TempDir()
		for name, text := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cfg := siteOf(t, fmt.Sprintf(`http: {listen: "127.0.0.1:0", tls: {cert: %s/tls.crt, key: %s/tls.key}}
sinks:
  inbox: {type: inbox}
  gateway: {type: webhook, url: %q, allow_private: true, tls: {ca: %s}}
  strange: {type: webhook, url: %q, allow_private: true}
  shown: {type: stdout}
`, dir, dir, server.URL+"/hook", authority.File(), server.URL))
		expect(t, append(checkCertificate(t.Context(), cfg, Options{}), checkSinks(t.Context(), cfg, Options{})...), map[string]string{
			CodeCertificate + " http.tls": want, CodeCertificate + " gateway": want, CodeSinkReach + " gateway": "ok with TLS",
			CodeSinkReach + " strange": "wrong unknown authority", CodeSinkReach + " shown": "skipped not checked",
		})
	}
	expect(t, []Finding{ends("old", time.Now().Add(-time.Hour))}, map[string]string{CodeCertificate + " old": "wrong ended"})
}

func TestASinkThatIsOut(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	cfg := siteOf(t, fmt.Sprintf("sinks:\n  inbox: {type: inbox}\n  gateway: {type: webhook, url: %q, allow_private: true}\n", server.URL))
	expect(t, checkSinks(t.Context(), cfg, Options{}), map[string]string{CodeSinkReach + " gateway": "ok takes connections"})
	server.Close()
	expect(t, checkSinks(t.Context(), cfg, Options{}), map[string]string{CodeSinkReach + " gateway": "wrong refused"})
}

func TestTheAddressOfTheAPI(t *testing.T) {
	t.Parallel()
	alive := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if alive {
			fmt.Fprintln(w, `{"status":"alive"}`)
		}
	}))
	t.Cleanup(server.Close)
	cfg := siteOf(t, fmt.Sprintf("http: {listen: %q}\n", server.Listener.Addr()))
	expect(t, checkListen(t.Context(), cfg, Options{}), map[string]string{CodeListen: "ok a node listens"})
	alive = false
	expect(t, checkListen(t.Context(), cfg, Options{}), map[string]string{CodeListen: "wrong in use"})
}

func TestMachineAndClocks(t *testing.T) {
	t.Parallel()
	const gb = 1 << 30
	for want, d := range map[string]Finding{
		"ok":            diskFinding("/d", 50*gb, 100*gb),
		"warning (9 %)": diskFinding("/d", 9*gb, 100*gb),
		"warning 500 ":  diskFinding("/d", 500<<20, gb),
		"wrong 50 MB":   diskFinding("/d", 50<<20, gb),
	} {
		expect(t, []Finding{d}, map[string]string{CodeDisk: want})
	}
	now := time.Now()
	expect(t, []Finding{clock(CodeLedgerClock, "", now.Add(time.Minute), now, now)}, map[string]string{CodeLedgerClock: "warning 1m ahead of this machine's"})
	cfg := siteOf(t, "http: {listen: \"127.0.0.1:0\", max_streams: 1000000}\n")
	if limit, known := openFiles(); known && limit < 1_000_000 {
		expect(t, checkOpenFiles(t.Context(), cfg, Options{}), map[string]string{CodeOpenFiles: "warning max_streams is 1000000"})
	}
	expect(t, checkDisk(t.Context(), cfg, Options{}), map[string]string{}) // It can be asked.
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	cfg := siteOf(t, "ledger: {url: \"sqlite:tallyman.db\"}\n")
	expect(t, checkLedger(t.Context(), cfg, Options{}), map[string]string{CodeLedgerReach: "ok is not there yet"})
	if _, err := app.Migrate(t.Context(), cfg, app.MigrateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(t, checkLedger(t.Context(), cfg, Options{}), map[string]string{CodeLedgerReach: "ok SQLite 3", CodeLedgerSchema: "ok"})
	if err := os.WriteFile(cfg.Ledger.Path, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, checkLedger(t.Context(), cfg, Options{}), map[string]string{CodeLedgerSchema: "wrong"})
}

func TestAServer(t *testing.T) {
	t.Parallel()
	expect(t, OfServer(&wire.StatusReport{Node: "a", Version: "1"}, "1"), map[string]string{CodeServer + " a": "ok version 1"})
	expect(t, OfServer(&wire.StatusReport{Node: "a", Version: "2"}, "1"), map[string]string{CodeServer + " a": "warning version 2, this program is 1"})
	sick := OfServer(&wire.StatusReport{Node: "a", Version: "1", Health: []wire.Health{{Part: "source", Name: "wms", Error: "out"}}}, "1")
	expect(t, sick, map[string]string{CodeServer + " a": "wrong source wms: out"})
	expect(t, []Finding{ServerOut(net.ErrClosed)}, map[string]string{CodeServer: "wrong"})
}

// TestThePagesHaveEveryCode holds the pages against the codes.
func TestThePagesHaveEveryCode(t *testing.T) {
	t.Parallel()
	for file, page := range map[string]string{"doctor.go": "doctor.md", "verify.go": "back-up-and-restore.md"} {
		text := codetest.ReadFile(t, "../../../docs/how-to/"+page)
		for code := range codetest.Declared(t, codetest.Constant, file) {
			if !strings.Contains(text, "\n| `"+code+"` | ") {
				t.Errorf("docs/how-to/%s has no line for %s", page, code)
			}
		}
	}
}
