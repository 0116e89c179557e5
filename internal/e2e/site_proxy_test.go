//go:build site

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/testenv"
)

// siteProxy is a kind of proxy, whose settings stand in docs/how-to/proxy.md in a block of its name.
type siteProxy struct {
	name    string
	around  string // the file that the settings are put into; USER is the user of its workers where it has one
	command func(dir, file string) []string
	listens [2]string // how the settings say where it listens, and how a test does: %s is the port
}

// The words around the settings only keep the process in the foreground and its files in the folder of the test.
var siteProxies = []siteProxy{
	{
		name: "nginx",
		around: "daemon off; USER pid nginx.pid; error_log stderr; events {} http { access_log off; client_body_temp_path body; proxy_temp_path proxy; " +
			"fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;\nSETTINGS}\n",
		command: func(dir, file string) []string { return []string{"nginx", "-p", dir, "-c", file} },
		listens: [2]string{"listen 443 ssl", "listen 127.0.0.1:%s ssl"},
	},
	{
		name:    "haproxy",
		around:  "global\n    log stderr local0 notice\nSETTINGS",
		command: func(_, file string) []string { return []string{"haproxy", "-W", "-db", "-f", file} },
		listens: [2]string{"bind :443 ssl", "bind 127.0.0.1:%s ssl"},
	},
	{
		name:   "caddy",
		around: "{\n\tadmin off\n\tauto_https off\n}\nSETTINGS",
		command: func(_, file string) []string {
			return []string{"caddy", "run", "--adapter", "caddyfile", "--config", file}
		},
		listens: [2]string{siteHost + " {\n", siteHost + ":%s {\n"},
	},
}

// siteHost is the name that the settings of the docs have.
const siteHost = "tallyman.example.com"

// TestSiteProxies has each proxy stand before a node with exactly the settings of the docs.
func TestSiteProxies(t *testing.T) {
	t.Parallel()
	c := newWork(t)
	token := c.admin()
	c.configure("auth: {mode: none}", "auth: {mode: token}")
	n := c.start(0)
	c.configure("auth: {mode: token}", "auth: {mode: none}")
	open := c.start(1)
	for _, kind := range siteProxies {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			p := &siteClient{t: t, name: kind.name, token: token, client: kind.start(t, n)}
			testenv.Eventually(t, func() bool { status, _ := p.call(http.MethodGet, "/readyz", nil); return status == http.StatusOK }, 30*time.Second)
			t.Run("a long poll", func(t *testing.T) { t.Parallel(); p.in(t).longPoll() })
			t.Run("an idle stream", func(t *testing.T) { t.Parallel(); p.in(t).idleStream(n) })
			t.Run("large bodies", func(t *testing.T) { t.Parallel(); p.in(t).largeBodies() })
			t.Run("pages of other origins", func(t *testing.T) { t.Parallel(); p.in(t).origins() })
			t.Run("wrong credentials", func(t *testing.T) { t.Parallel(); p.in(t).wrongCredentials() })
			t.Run("a node that knows nobody", func(t *testing.T) {
				t.Parallel()
				p := &siteClient{t: t, name: kind.name, client: kind.start(t, open)}
				testenv.Eventually(t, func() bool { status, _ := p.call(http.MethodGet, "/healthz", nil); return status == http.StatusOK }, 30*time.Second)
				if status, body := p.call(http.MethodGet, "/api/v1/types", nil); status != http.StatusMisdirectedRequest || !strings.Contains(body, "bad_host") {
					t.Errorf("asked by another name it answers %d %s", status, body)
				}
			})
		})
	}
}

// TestSiteProxiesKeepPolls has the ledger refuse each commit of the only node: the node is unready, and each proxy goes
// on answering polls.
func TestSiteProxiesKeepPolls(t *testing.T) {
	t.Parallel()
	c := newWork(t)
	token := c.admin()
	c.configure("auth: {mode: none}", "auth: {mode: token}")
	n := c.start(0)
	clients := map[string]*siteClient{}
	for _, kind := range siteProxies {
		p := &siteClient{t: t, name: kind.name, token: token, client: kind.start(t, n)}
		testenv.Eventually(t, func() bool { status, _ := p.call(http.MethodGet, "/readyz", nil); return status == http.StatusOK }, 30*time.Second)
		clients[kind.name] = p
	}
	db, err := pgx.Connect(t.Context(), c.ledgerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(t.Context()) }()
	_, err = db.Exec(t.Context(), `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = 'disk_full'; END $$;
		CREATE TRIGGER full_disk BEFORE INSERT ON firings EXECUTE FUNCTION full_disk()`)
	if err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() bool {
		resp, err := http.Get(n.base + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusServiceUnavailable
	}, 60*time.Second)
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); <-time.After(100 * time.Millisecond) { // proxies notice within some seconds
		for name, p := range clients {
			if status, body := p.call(http.MethodGet, "/api/v1/notices"+p.inbox("keep"), nil); status != http.StatusOK {
				t.Fatalf("%s answers a poll with %d %s", name, status, body)
			}
		}
	}
	for name, p := range clients {
		if status, body := p.call(http.MethodGet, "/readyz", nil); status != http.StatusServiceUnavailable || !strings.Contains(body, "not_ready") {
			t.Errorf("%s does not pass on what the node says: %d %s", name, status, body)
		}
	}
}

// start runs the proxy before the nodes, and returns a client that knows it by its name. More than one node needs
// settings with one line for each node.
func (kind *siteProxy) start(t *testing.T, nodes ...*node) *http.Client {
	t.Helper()
	dir := t.TempDir()
	authority := testenv.NewAuthority(t, "site")
	cert, key := authority.Issue(siteHost)
	for name, content := range map[string][]byte{"tls.crt": cert, "tls.key": key, "tls.pem": append(bytes.Clone(cert), key...)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	port := freePort(t)
	settings := documented(t, kind.name)
	for _, change := range [][2]string{
		{kind.listens[0], fmt.Sprintf(kind.listens[1], port)}, {"/etc/tallyman/", dir + "/"},
	} {
		if !strings.Contains(settings, change[0]) {
			t.Fatalf("the settings of %s do not have %q", kind.name, change[0])
		}
		settings = strings.ReplaceAll(settings, change[0], change[1])
	}
	settings = withNodes(t, settings, nodes)
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // its workers must reach the folder of the test
	}
	file := filepath.Join(dir, "proxy.conf")
	if err := os.WriteFile(file, []byte(strings.NewReplacer("USER", user, "SETTINGS", settings).Replace(kind.around)), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	words := kind.command(dir, file)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; make test-site installs it", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		_ = log.Close()
		if said, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("%s:\n%s\n%s", kind.name, settings, said)
		}
	})
	transport := &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: authority.Pool(), MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+port)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// siteClient asks through a proxy.
type siteClient struct {
	t      *testing.T
	name   string // of the proxy; inboxes and keys have it, so that the proxies do not meet
	token  string
	client *http.Client
}

func (p *siteClient) in(t *testing.T) *siteClient {
	t.Helper()
	sub := *p
	sub.t = t
	return &sub
}

// begin makes a request; headers are name, value, ….
func (p *siteClient) begin(ctx context.Context, method, path string, body io.Reader, headers ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "https://"+siteHost+path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return p.client.Do(r)
}

// call is a whole exchange; its status is 0 where there is no answer.
func (p *siteClient) call(method, path string, body io.Reader, headers ...string) (status int, answer string) {
	resp, err := p.begin(p.t.Context(), method, path, body, headers...)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

func (p *siteClient) inbox(of string) string {
	return "?warehouse=119240&subscriber=" + url.QueryEscape("user:"+p.name+of)
}

// longPoll asks for all that a client may ask for: there is an answer, from the node, before the proxy gives up.
func (p *siteClient) longPoll() {
	began := time.Now()
	status, body := p.call(http.MethodGet, "/api/v1/notices"+p.inbox("poll")+"&wait=60s", nil)
	if took := time.Since(began); status != http.StatusOK || !strings.Contains(body, `"notices":[]`) || took < 50*time.Second || took > 55500*time.Millisecond {
		p.t.Errorf("%d %s after %s", status, body, took)
	}
}

// idleStream has nothing to tell for longer than the times of proxies: it stays, it is not held back, and it ends with
// its client.
func (p *siteClient) idleStream(n *node) {
	const idle = 75 * time.Second
	ctx, leave := context.WithCancel(p.t.Context())
	defer leave()
	resp, err := p.begin(ctx, http.MethodGet, "/api/v1/notices/stream"+p.inbox("stream"), nil, "Accept", "text/event-stream")
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		p.t.Fatalf("the stream begins with %d", resp.StatusCode)
	}
	lines := linesOf(resp.Body)
	next := func(within time.Duration) string {
		select {
		case line, ok := <-lines:
			if !ok {
				p.t.Fatal("the stream has ended")
			}
			return line
		case <-time.After(within):
			p.t.Fatalf("the stream says nothing for %s", within)
		}
		return ""
	}
	for began := time.Now(); time.Since(began) < idle; {
		next(20 * time.Second) // the comments of every 15 s
	}
	title := "to " + p.name
	body := fmt.Sprintf(`{"notices":[{"type":"MOVE_NOTICE","warehouse":"119240","title":%q,"recipients":["user:%sstream"]}]}`, title, p.name)
	if status, answer := p.call(http.MethodPost, "/api/v1/notices", strings.NewReader(body)); status != http.StatusCreated {
		p.t.Fatalf("%d %s", status, answer)
	}
	for began := time.Now(); !strings.Contains(next(5*time.Second), title); {
		if time.Since(began) > 5*time.Second {
			p.t.Fatal("the notice is held back")
		}
	}
	had := p.streams(n)
	leave()
	testenv.Eventually(p.t, func() bool { return p.streams(n) < had }, 10*time.Second)
}

// linesOf are the lines of a body as they come; the channel is closed with its end.
func linesOf(body io.Reader) <-chan string {
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(body); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return lines
}

// streams is how many are open at the node. Other proxies of the test have streams, too, and close theirs later or
// sooner.
func (p *siteClient) streams(n *node) int {
	_, text := p.call(http.MethodGet, "/metrics", nil)
	_, text, _ = strings.Cut(text, "\ntallyman_streams ")
	count := 0
	if _, err := fmt.Sscan(text, &count); err != nil {
		p.t.Errorf("node %s has no count of streams: %v", n.name, err)
	}
	return count
}

// largeBodies sends what the node takes at most, and one byte more, which the node itself must refuse.
func (p *siteClient) largeBodies() {
	const most = 8 << 20
	notice := fmt.Sprintf(`{"notices":[{"type":"MOVE_NOTICE","warehouse":"119240","title":"large","recipients":["user:%slarge"]}]}`, p.name)
	for size, want := range map[int]struct {
		status int
		says   string
	}{most: {http.StatusCreated, `"deliveries":1`}, most + 1: {http.StatusRequestEntityTooLarge, `"code":"body_too_large"`}} {
		body := notice + strings.Repeat(" ", size-len(notice))
		if status, answer := p.call(http.MethodPost, "/api/v1/notices", strings.NewReader(body)); status != want.status || !strings.Contains(answer, want.says) {
			p.t.Errorf("%d bytes: %d %.300s", size, status, answer)
		}
	}
}

// origins: pages that the proxy's own name leads to may change things, others may not. The node knows by Host and
// Origin alone.
func (p *siteClient) origins() {
	subscription := fmt.Sprintf(`{"type":"MOVE_NOTICE","warehouse":"119240","subscriber":"user:%sorigin"}`, p.name)
	for origin, want := range map[string]int{"https://" + siteHost: http.StatusCreated, "https://wms.example.com": http.StatusForbidden, "null": http.StatusForbidden} {
		if status, answer := p.call(http.MethodPost, "/api/v1/subscriptions", strings.NewReader(subscription), "Origin", origin); status != want {
			p.t.Errorf("a page of %s: %d %s", origin, status, answer)
		}
	}
}

// wrongCredentials come by the hundred under forged addresses: who sends them is slowed down, and who is right is
// taken.
func (p *siteClient) wrongCredentials() {
	refused := 0
	for i := range 500 {
		forged := fmt.Sprintf("10.0.%d.%d", i/250, i%250)
		switch status, answer := p.call(http.MethodGet, "/api/v1/types", nil, "Authorization", fmt.Sprintf("Bearer tly_wrong%d", i), "X-Forwarded-For", forged, "Forwarded", "for="+forged); status {
		case http.StatusUnauthorized:
		case http.StatusTooManyRequests:
			refused++
		default:
			p.t.Fatalf("%d %s", status, answer)
		}
	}
	if refused == 0 {
		p.t.Error("nobody slows down who guesses tokens")
	}
	if status, answer := p.call(http.MethodGet, "/api/v1/types", nil); status != http.StatusOK {
		p.t.Errorf("who is right is answered %d %s", status, answer)
	}
}
