package docs

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tallyman/docs/codetest"
	"tallyman/internal/testenv"
)

// TestCommandsOfPagesRun runs the shell blocks of the pages, page by page, on sites of testdata/site with PostgreSQL and Redis. A command must end with
// the exit code 0, or with that of exits. A comment before a block that cannot run says why: <!-- not run: needs systemd -->.
func TestCommandsOfPagesRun(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "psql", "redis-cli", "sqlite3"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatal("the commands of docs need ", tool, ": ", err)
		}
	}
	sites, known := map[string][]step{}, map[string]bool{}
	for _, page := range guides(t) {
		site := filepath.Base(filepath.Dir(page))
		if site == "tutorial" {
			continue // TestTutorial runs these pages.
		}
		if site != "runbooks" && site != "reference" {
			site = "how-to"
		}
		for _, s := range stepsOf(t, page) {
			command, _, _ := strings.Cut(s.line, "  #")
			command = strings.TrimSpace(command)
			if !known[command] || !strings.HasPrefix(command, "tallyman ") { // The same command again would take time and show nothing.
				sites[site] = append(sites[site], s)
			}
			known[command] = true
		}
	}
	for site, steps := range sites {
		t.Run(site, func(t *testing.T) {
			t.Parallel()
			runSteps(t, site, steps)
		})
	}
}

// step is a command of a page.
type step struct {
	page   string
	number int    // The number of the line in the page.
	line   string // The command as the page has it.
}

// stepsOf are the commands of a page in their order.
func stepsOf(t *testing.T, page string) (steps []step) {
	t.Helper()
	for _, b := range blocksOf(t, page) {
		if b.language != "sh" || elsewhere(t, b) {
			continue
		}
		if reason, not := strings.CutPrefix(b.mark, "not run: "); not {
			t.Logf("%s:%d is not run: %s", page, b.line, reason)
			continue
		}
		for i, line := range strings.Split(strings.TrimSpace(b.text), "\n") {
			steps = append(steps, step{page, b.line + i, line})
		}
	}
	return steps
}

// elsewhere tells whether internal/e2e runs the commands. Its tests name the heading above the block.
func elsewhere(t *testing.T, b fenced) bool {
	t.Helper()
	if !slices.Contains([]string{"back-up-and-restore.md", "high-availability.md"}, filepath.Base(b.page)) || strings.HasPrefix(b.mark, "not run: ") {
		return false
	}
	lines := strings.Split(codetest.ReadFile(t, b.page), "\n")[:b.line]
	slices.Reverse(lines)
	heading := lines[slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "#") })]
	tests, err := filepath.Glob("../internal/e2e/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(tests, func(file string) bool { return strings.Contains(codetest.ReadFile(t, file), strconv.Quote(heading)) }) {
		t.Errorf("%s:%d: no test of internal/e2e runs the commands below %q", b.page, b.line, heading)
	}
	return true
}

// exits are the commands that end with another exit code than 0 on the site, and why. A code with ? may be 0 too.
var exits = map[string]string{
	`tallyman (migrate )?status`:     "1?", // Something may be wrong.
	`tallyman doctor`:                "1?",
	`tallyman drain wms-2`:           "1", // The node of the site has another name.
	`tallyman clock confirm`:         "1", // The clock is right.
	`tallyman scopes forget`:         "1", // The rule still has the query.
	`tallyman subscriptions release`: "1", // The configuration still has the query.
}

// isRight tells whether the command may end with the exit code.
func (s step) isRight(code string) bool {
	for line, right := range exits {
		if regexp.MustCompile("^" + line).MatchString(s.line) {
			return code == right || code+"?" == right || code == "0" && strings.HasSuffix(right, "?")
		}
	}
	return code == "0"
}

// preparations run before the commands of the pages that match. Their functions are in testdata/site/begin.sh.
var preparations = []struct{ line, before string }{
	{`queue (ack|nack) .*i_7k2m`, "leased"},
	{`queue assign .*--attempt 2`, "twice"},
	{`queue (set|store|remove|show|rank|assign) .*(i_7k2m --[^a]|i_9x1c|i_7k2m$|ITEM)`, "items"},
	{`queue requeue .*i_7k2m`, "dead"},
	{`subscribers (remove|show)`, "tallyman subscribers set user:ann --mail ann@example.com"},
	{`rules promote`, "shadow"},
	{`--token-file admin.token`, "until_prints user:ann tallyman tokens list --token-file admin.token"},
	{`read-all .*--token-file wms.token`, "tallyman tokens create --subject service:reader --access service --warehouse 119240 --out wms.token"},
	{`cat client.token`, "tallyman tokens create --subject user:bob --access client --subscriber role:keeper --warehouse 119240 >client.token"},
	{`--ca-file`, "second"},
	{`init shanghai`, `psql -qd "$WMS_URL" -c 'CREATE TABLE bin_stock (wh_id int, bin_code text, sku text, qty numeric, PRIMARY KEY (wh_id, bin_code, sku))'`},
	{`tokens create --config`, "unset TALLYMAN_SERVER"},
	{`/var/backups/tallyman`, "tallyman migrate up --config site.yaml --set ledger.url=sqlite:lite.db"},
	{`scopes confirm`, "until_prints waits tallyman scopes list"},
	{`subscriptions confirm`, "until_prints waits tallyman subscriptions origins"},
}

// replacements put a value of the site in the place of an example of a page.
var replacements = []struct{ page, site string }{
	{`https://tallyman\.example\.com:8443`, "$$TLS_SERVER"},
	{`(http|https)://(127\.0\.0\.1|wms-1|wms-2|tallyman\.example\.com)(:8080)?(\s|$|/)`, `http://$$LISTEN$4`},
	{`127\.0\.0\.1:8081`, "127.0.0.1:0"},
	{`\bn_[0-9a-z]+`, "$$(notice)"},
	{`\bs_[0-9a-z]+`, "$$(silence)"},
	{`\bt_[0-9a-z]+`, "$$(token)"},
	{`\b(ITEM|i_7k2m)\b`, "$$ITEM"},
	{`\bi_9x1c\b`, "$$OTHER"},
	{`--until 2026`, "--until 2099"},
	{`oracle://[^']*`, "sqlite:wms.sqlite"},
	{`--driver oracle`, "--driver sqlite"},
	{`^(tallyman rules new --source.*)`, "$1 && rm rules/negative* && tallyman rules reload"},
	{`^tallyman rules new$`, "tallyman rules new --ask --source wms --table bin_stock --out asked.yaml <enter"},
	{`psql --dbname postgres`, `psql -v ON_ERROR_STOP=1 -d "$$LEDGER_URL"`},
	{`^(tallyman backup) /var/backups/tallyman/(.*)`, "$1 $2 --set ledger.url=sqlite:lite.db"},
	{`sqlite:/var/backups/tallyman/tallyman\.db`, "sqlite:lite.db"},
	{`^make build`, ": build"},
}

// runSteps runs the commands on a site of their own.
func runSteps(t *testing.T, site string, steps []step) {
	t.Helper()
	var script strings.Builder
	script.WriteString("set -eu; . ./begin.sh; set +eu; set -o pipefail\n")
	for i, s := range steps {
		fmt.Fprintf(&script, "echo; echo '@ %d'; exec <answers\n", i)
		if i == 0 || s.page != steps[i-1].page {
			script.WriteString("page\n")
		}
		for _, p := range preparations {
			if regexp.MustCompile(p.line).MatchString(s.line) {
				script.WriteString(p.before + "\n")
			}
		}
		line := s.line
		for _, r := range replacements {
			line = regexp.MustCompile(r.page).ReplaceAllString(line, r.site)
		}
		script.WriteString(line + "\necho \"@ ended $?\"\n")
	}
	gateway := testenv.NewHTTPServer(t)
	gateway.Always(testenv.ReplyStatus(http.StatusServiceUnavailable, "down for repair"))
	redis := testenv.Redis(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/site")); err != nil {
		t.Fatal(err)
	}
	repository, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	authority := testenv.NewAuthority(t, "site")
	cert, key := authority.Issue("localhost")
	for name, pem := range map[string][]byte{"ca.pem": testenv.PEM("CERTIFICATE", authority.Cert.Raw), "tls.crt": cert, "tls.key": key} {
		writeFile(t, filepath.Join(dir, name), string(pem), 0o600)
	}
	out, err := runScript(t, dir, script.String(), "REPOSITORY="+repository, "SITE="+site, "LISTEN="+freeAddress(t),
		"REDIS_URL="+redis.URL(), "LEDGER_URL="+testenv.Postgres(t), "WMS_URL="+testenv.Postgres(t), "GATEWAY_URL="+gateway.URL)
	begin, rest, begun := strings.Cut(out, "\n@ 0\n")
	if !begun {
		log, _ := os.ReadFile(filepath.Join(dir, "serve.log"))
		t.Fatalf("the site did not begin: %v\n%s\n%s", err, begin, log)
	}
	for i, s := range steps {
		var text string
		text, rest, _ = strings.Cut(rest, fmt.Sprintf("\n@ %d\n", i+1))
		text, ended, _ := strings.Cut(text, "@ ended ")
		code, _, _ := strings.Cut(ended, "\n")
		if !s.isRight(code) {
			t.Errorf("%s:%d: %s\nends with %q:\n%s", s.page, s.number, s.line, code, text)
		}
	}
	if t.Failed() {
		t.Logf("%s\n%s", out, codetest.ReadFile(t, filepath.Join(dir, "serve.log")))
	}
}
