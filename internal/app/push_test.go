package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/config"
	"tallyman/internal/settings"
	"tallyman/internal/testenv"
	"tallyman/sinks"
	"tallyman/sinks/inbox"
	"tallyman/sinks/webhook"
)

// pushRule tells the inbox and a push channel.
func pushRule(deliver string) string {
	return strings.Replace(stockRule, "deliver: [{sink: inbox}]", "deliver: ["+deliver+"]", 1)
}

// webhook adds a sink of type webhook that posts to the server.
func (s *site) webhook(name, url string) *webhook.Settings {
	s.t.Helper()
	if s.cfg.Sinks == nil {
		s.cfg.Sinks = config.Sinks{"inbox": inbox.NewSettings()}
	}
	sink := webhook.NewSettings()
	sink.URL, sink.Secrets, sink.AllowPrivate = config.NewSecret(url), settings.Secrets{config.NewSecret("swordfish")}, true
	s.cfg.Sinks[name] = sink
	return sink
}

// posts is a receiver of webhooks.
type posts struct {
	server *httptest.Server

	mu     sync.Mutex
	bodies []map[string]any
	keys   []string
	answer func(w http.ResponseWriter, r *http.Request)
}

func receive(t testing.TB) *posts {
	t.Helper()
	p := &posts{}
	p.server = httptest.NewServer(p)
	t.Cleanup(p.server.Close)
	return p
}

func (p *posts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var n map[string]any
	if err := json.Unmarshal(body, &n); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.bodies = append(p.bodies, n)
	p.keys = append(p.keys, r.Header.Get("Idempotency-Key"))
	answer := p.answer
	p.mu.Unlock()
	if answer != nil {
		answer(w, r)
	}
}

// titles are those of the notices so far, in the order of their coming.
func (p *posts) titles() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for _, b := range p.bodies {
		title, _ := b["title"].(string)
		status, _ := b["status"].(string)
		list = append(list, status+" "+title)
	}
	return list
}

func (p *posts) say(answer func(http.ResponseWriter, *http.Request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

func down(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "closed for stock taking", http.StatusServiceUnavailable)
}

// A rule's notice goes to the inbox and to a webhook, and so does its resolution, on both ledgers.
func TestPushChannel(t *testing.T) {
	t.Parallel()
	for name, prepare := range environments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, gateway := newSite(t), receive(t)
			s.webhook("gateway", gateway.server.URL)
			wms := prepare(s)
			s.rule("stock.yaml", pushRule("{sink: inbox}, {sink: gateway, strategy: timed, within: 30m}"))
			wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
			n := s.start("one")
			got := n.await(nil, 1)
			testenv.Eventually(t, func() bool { return len(gateway.titles()) == 1 }, 10*time.Second)
			if gateway.titles()[0] != "firing Bin A-01 is at -3" || gateway.keys[0] != got.Notices[0].ID {
				t.Fatalf("the webhook got %v under %v", gateway.titles(), gateway.keys)
			}
			wms.exec(`UPDATE bin_stock SET qty = 20 WHERE bin_code = 'A-01'`)
			testenv.Eventually(t, func() bool { return len(gateway.titles()) == 2 }, 10*time.Second)
			if second := gateway.titles()[1]; !strings.HasPrefix(second, "resolved ") {
				t.Fatalf("then the webhook got %q", second)
			}
		})
	}
}

// What could not be delivered before a restart is delivered after it, once, in order; what was sent is not sent again.
func TestPushChannelAfterARestart(t *testing.T) {
	t.Parallel()
	s, gateway := newSite(t), receive(t)
	s.webhook("gateway", gateway.server.URL)
	wms := s.sqliteWMS()
	s.rule("stock.yaml", pushRule("{sink: inbox}, {sink: gateway, strategy: important}"))
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	n := s.start("one")
	testenv.Eventually(t, func() bool { return len(gateway.titles()) == 1 }, 10*time.Second)
	testenv.Eventually(t, func() bool { return n.deliveries("gateway", "sent") == 1 }, 10*time.Second)
	gateway.say(down)
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-02', 'S2', -1)`)
	testenv.Eventually(t, func() bool { return len(gateway.titles()) >= 2 }, 10*time.Second)
	n.stop()
	tried := len(gateway.titles())
	gateway.say(nil)
	n = s.start("two")
	testenv.Eventually(t, func() bool { return n.deliveries("gateway", "sent") == 2 }, 20*time.Second)
	if got := gateway.titles(); len(got) != tried+1 || got[tried] != "firing Bin A-02 is at -1" {
		t.Fatalf("the webhook got %v", got)
	}
}

// deliveries counts those of a sink in a state.
func (n *node) deliveries(sink, state string) int64 {
	n.t.Helper()
	for _, c := range n.status().Deliveries {
		if c.Sink == sink && c.State == state {
			return c.Count
		}
	}
	return 0
}

// A webhook that fails is told in /status and in the metrics, keeps nobody from work, and shows no secret.
func TestFailingPushChannelIsTold(t *testing.T) {
	t.Parallel()
	s, gateway := newSite(t), receive(t)
	gateway.say(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no: "+r.URL.String()+" "+r.Header.Get("X-Token"), http.StatusInternalServerError)
	})
	sink := s.webhook("gateway", gateway.server.URL+"/hooks/T0KEN-of-the-path?key=s3cret-key")
	sink.Breaker = sinks.Breaker{Failures: 1, Open: time.Minute}
	sink.Headers = settings.Headers{"X-Token": config.NewSecret("Bearer s3cret-header")}
	wms := s.sqliteWMS()
	s.rule("stock.yaml", pushRule("{sink: inbox}, {sink: gateway, strategy: important}"))
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	n := s.start("one")
	n.await(nil, 1)
	testenv.Eventually(t, func() bool {
		for _, h := range n.status().Health {
			if h.Part == "sink" && h.Name == "gateway" {
				return !h.OK && strings.Contains(h.Error, "500") && !strings.Contains(h.Error, "s3cret") && !strings.Contains(h.Error, "T0KEN")
			}
		}
		return false
	}, 10*time.Second)
	if code, body := n.do(http.MethodGet, "/readyz", "*/*", ""); code != http.StatusOK {
		t.Errorf("/readyz: %d %s", code, body)
	}
	// The breaker opens before the delivery is settled, and that is when it is counted.
	for _, want := range []string{
		`tallyman_sink_breaker_state{sink="gateway",state="open"} 1`, `tallyman_sink_held_back{sink="gateway"} 1`, `tallyman_deliveries_total{outcome="retried",sink="gateway"} 1`,
	} {
		testenv.Eventually(t, func() bool {
			_, scraped := n.do(http.MethodGet, "/metrics", "*/*", "")
			return strings.Contains(scraped, want)
		}, 10*time.Second)
	}
}
