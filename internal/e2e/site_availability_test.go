//go:build site

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/docs/codetest"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
)

// TestSiteAvailability sets a site up by docs/how-to/high-availability.md: two PostgreSQL, two Redis with three
// Sentinels, two nodes behind HAProxy. It kills one server after the other and does what the page says. Nothing is
// lost, each notice comes once, and clients are reset only when Redis has died.
func TestSiteAvailability(t *testing.T) {
	t.Parallel()
	s := newAvailableSite(t)
	noReset := func() {
		t.Helper()
		for _, cl := range s.clients {
			if cl.hasReset() > 0 {
				t.Errorf("a client of %s was reset although Redis lives", cl.warehouse)
			}
		}
	}

	s.fails("the primary of PostgreSQL", func() {
		s.db1.Kill()
		pause(time.Second) // A person or a manager notices.
		s.does(s.db2, "### On db2: promote the standby")
	})
	s.does(s.db1, "### On db1: come back as the standby")
	s.does(s.db2, "### On db2: let commits wait for db1")
	s.fails("the standby of PostgreSQL", func() {
		s.db1.Kill()
		s.awaitWaitingCommit()
		s.does(s.db2, "### On the primary: do not wait for the standby")
	})
	noReset()

	s.fails("a node", s.nodes[0].kill)
	s.start(0)
	noReset()

	dead, heir := s.redis, s.replica
	s.fails("the master of Redis", dead.Kill)
	s.redis = heir
	testenv.Eventually(t, func() bool {
		return !slices.ContainsFunc(s.clients, func(cl *client) bool { return cl.hasReset() == 0 })
	}, 60*time.Second)
	dead.Restart()
	info := dead.Client(t)
	testenv.Eventually(t, func() bool {
		text, err := info.Info(t.Context(), "replication").Result()
		return err == nil && strings.Contains(text, "role:slave") && strings.Contains(text, "master_link_status:up")
	}, 60*time.Second)
	s.finishAll()
}

// availableSite is the site of docs/how-to/high-availability.md.
type availableSite struct {
	*trial

	page       string
	places     *strings.Replacer // puts the servers of the test in the place of those of the page
	db1, db2   *testenv.PGServer
	replica    *testenv.RedisServer
	nodes      [2]*node
	settings   [2][]string
	hook       *receiver
	outages    *outages
	stopProbe  func()
	stopLosing func() (bins int)
}

func newAvailableSite(t *testing.T) *availableSite {
	t.Helper()
	s := &availableSite{
		page: codetest.ReadFile(t, "../../docs/how-to/high-availability.md"), db1: testenv.PostgresServer(t), db2: testenv.PostgresServer(t),
		hook: calmReceiver(t),
	}
	redis := testenv.Redis(t)
	places := []string{"${LEDGER_PASSWORD}", "secret", "10.0.0.1 6379", strings.Replace(redis.Addr, ":", " ", 1)}
	for name, server := range map[string]*testenv.PGServer{"db1": s.db1, "db2": s.db2} {
		host, port, err := net.SplitHostPort(server.Addr)
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, "host="+name+" port=5432", "host="+host+" port="+port, name+":5432", server.Addr)
	}
	s.places = strings.NewReplacer(places...)
	s.trial = &trial{cluster: &cluster{t: t}} // for the commands; the ledger comes first

	s.db1.Shell("createuser --superuser tallyman_app && createdb --owner tallyman_app tallyman")
	s.does(s.db1, "### On db1: make the role for replication")
	s.does(s.db2, "### On db2: copy the primary")
	s.does(s.db1, "### On db1: let commits wait for db2")
	s.replica = testenv.Redis(t, append([]string{"--replicaof"}, strings.Fields(s.block("conf", "replicaof "))[1:]...)...)
	sentinels := testenv.StartSentinels(t, "tallyman", s.block("conf", "sentinel "), 3)
	for i, address := range sentinels {
		places = append(places, fmt.Sprintf("10.0.0.%d:26379", i+1), address)
	}
	s.places = strings.NewReplacer(places...)

	configuration := s.block("yaml", "ledger: ")
	ledgerURL := regexp.MustCompile(`postgres://[^"]+`).FindString(configuration)
	c := newClusterOn(t, ledgerURL, shippedLease, worldRules+tickRules("{sink: gateway}"))
	own := regexp.MustCompile(`(?m)^(redis|ledger): .*\n`).ReplaceAllString(codetest.ReadFile(t, filepath.Join(c.dir, configFile)), "")
	c.write(configFile, configuration+own)
	c.sinks(webhook("gateway", s.hook))
	c.redis = redis
	c.shelf()
	token := c.admin()
	c.configure("auth: {mode: none}", "auth: {mode: token}")
	s.trial = &trial{cluster: c}
	for place := range s.nodes {
		s.settings[place] = []string{"TALLYMAN_HTTP__LISTEN=127.0.0.1:" + freePort(t)}
		s.start(place)
	}
	haproxy := siteProxies[slices.IndexFunc(siteProxies, func(p siteProxy) bool { return p.name == "haproxy" })]
	p := &siteClient{t: t, name: haproxy.name, token: token, client: haproxy.start(t, s.nodes[:]...)}
	testenv.Eventually(t, func() bool { status, _ := p.call(http.MethodGet, "/readyz", nil); return status == http.StatusOK }, 30*time.Second)
	c.front = &front{url: "https://" + siteHost, transport: tokenTransport{p.client.Transport.(*http.Transport), token}}
	s.trial = trialOf(c)
	s.stopLosing = s.loseBins()
	s.outages, s.stopProbe = probe(p)
	s.awaitFirings(s.ledger, tickScopes, time.Now(), everyRule, latestRule)
	return s
}

// tokenTransport adds a token to each request.
type tokenTransport struct {
	*http.Transport

	token string
}

func (t tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+t.token)
	return t.Transport.RoundTrip(r)
}

// start runs the node of a place at its address.
func (s *availableSite) start(place int) {
	s.t.Helper()
	s.nodes[place] = s.trial.start(place, s.settings[place]...)
}

// block returns the block of the page in the language that begins with the text, with the servers of the test.
func (s *availableSite) block(language, begins string) string {
	s.t.Helper()
	_, text, found := strings.Cut(s.page, "\n```"+language+"\n"+begins)
	if !found {
		s.t.Fatalf("docs/how-to/high-availability.md has no block in %s that begins with %q", language, begins)
	}
	text, _, _ = strings.Cut(text, "```")
	return s.places.Replace(begins + text)
}

// does runs the commands below a heading of the page on the machine of a server.
func (s *availableSite) does(server *testenv.PGServer, heading string) {
	s.t.Helper()
	runCommands(s.places.Replace(commandsBelow(s.t, s.page, heading)), func(script string) { server.Shell(script) }, func(words []string) bool {
		map[string]func(){"stop": server.Stop, "start": server.Restart}[words[1]]()
		return true
	})
}

// fails has something fail and the site recover. It logs how long that took.
func (s *availableSite) fails(what string, fail func()) {
	s.t.Helper()
	s.outages.begin()
	failed := time.Now()
	fail()
	repaired := time.Now()
	s.awaitFirings(s.ledger, tickScopes, repaired, everyRule, latestRule)
	for _, n := range s.nodes {
		select {
		case <-n.ended:
		default:
			testenv.Eventually(s.t, func() bool { status, _ := n.readyz(); return status == http.StatusOK }, 60*time.Second)
		}
	}
	testenv.Eventually(s.t, func() bool { return s.outages.heardAfter(repaired) }, 60*time.Second)
	ready := time.Since(failed)
	unanswered, silent := s.outages.longest()
	s.t.Logf("%s died: repaired after %s, all is well after %s; longest time without an answered poll %s, without a new notice %s", what,
		repaired.Sub(failed).Round(10*time.Millisecond), ready.Round(10*time.Millisecond), unanswered.Round(10*time.Millisecond), silent.Round(10*time.Millisecond))
}

// awaitWaitingCommit waits until a commit waits for the standby that is dead.
func (s *availableSite) awaitWaitingCommit() {
	s.t.Helper()
	db := s.connect()
	testenv.Eventually(s.t, func() bool {
		var waits bool
		return db.QueryRow(s.t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')`).Scan(&waits) == nil && waits
	}, 30*time.Second)
}

// finishAll checks that nothing was lost or doubled.
func (s *availableSite) finishAll() {
	t := s.t
	t.Helper()
	told := 2 * s.stopLosing()
	testenv.Eventually(t, func() bool {
		counts, err := s.ledger.CountDeliveries(t.Context())
		return err == nil && counts["gateway"][ledger.DeliverySent] == int64(told)
	}, 60*time.Second)
	s.stopProbe()
	calls, _ := s.hook.seen()
	ids := map[string]bool{}
	for _, one := range calls {
		ids[one.ID] = true
	}
	if len(ids) != told {
		t.Errorf("%d findings made webhooks with %d ids", told, len(ids))
	}
	t.Logf("%d webhooks, %d of them came again with their ids", len(calls), repeats(calls))
	s.finish(s.nodes[:], true)
	s.firings(s.ledger, everyRule).gapless(none)
}

// outages are those of a client that polls through the proxy.
type outages struct {
	mu                 sync.Mutex
	answered, heard    time.Time     // The last answered poll, and the last one with a new notice.
	unanswered, silent time.Duration // The longest times between two of them.
}

// probe polls through the proxy until stop is called.
func probe(p *siteClient) (o *outages, stop func()) {
	o = &outages{answered: time.Now(), heard: time.Now()}
	stopped := make(chan struct{})
	var polling sync.WaitGroup
	polling.Go(func() {
		cursor := ""
		for {
			select {
			case <-stopped:
				return
			case <-time.After(50 * time.Millisecond):
			}
			query := url.Values{"warehouse": {warehouses[0]}, "subscriber": {"role:keeper"}}
			if cursor != "" {
				query.Set("after", cursor)
			}
			var news page
			if status, text := p.call(http.MethodGet, "/api/v1/notices?"+query.Encode(), nil); status == http.StatusOK && json.Unmarshal([]byte(text), &news) == nil {
				cursor = news.Cursor
				o.note(len(news.Notices) > 0 && !news.Reset)
			}
		}
	})
	stop = sync.OnceFunc(func() {
		close(stopped)
		polling.Wait()
	})
	p.t.Cleanup(stop)
	return o, stop
}

func (o *outages) note(isNew bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answered, o.unanswered = time.Now(), max(o.unanswered, time.Since(o.answered))
	if isNew {
		o.heard, o.silent = time.Now(), max(o.silent, time.Since(o.heard))
	}
}

// begin forgets the longest times.
func (o *outages) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unanswered, o.silent = 0, 0
}

func (o *outages) heardAfter(moment time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.heard.After(moment)
}

func (o *outages) longest() (unanswered, silent time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.unanswered, o.silent
}
