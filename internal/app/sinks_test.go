package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/config"
	"tallyman/internal/settings"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
	"tallyman/sinks"
	"tallyman/sinks/inbox"
	"tallyman/sinks/webhook"
)

// pushRule is a rule that delivers to the inbox and a push channel.
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

// titles returns the titles of the notices so far, in the order in which they came.
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

// Deliveries that failed before a restart are made after it, once and in order. Sent ones are not sent again.
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

const (
	dueDeliveries = 10_000
	callsAtATime  = 64
)

// A webhook that hangs, with 64 calls under way and thousands of deliveries waiting for it, does not slow the inbox:
// from the commit to the poll takes as long as without it.
func TestDeadWebhookDoesNotSlowTheInbox(t *testing.T) {
	t.Parallel()
	s, gateway := newSite(t), testenv.NewHTTPServer(t)
	gateway.Always(testenv.ReplyHang)
	s.grace = 100 * time.Millisecond
	s.realServers()
	sink := s.webhook("gateway", gateway.URL)
	sink.Concurrency, sink.Timeout = callsAtATime, time.Minute
	sink.Breaker = sinks.Breaker{Failures: 1000, Open: time.Second}
	n := s.start("one")
	n.await(url.Values{"wait": {"0s"}}, 0)

	const samples = 60
	before := n.inboxTimes("before", samples)
	for i := range dueDeliveries / 1000 {
		n.submit(fmt.Sprintf("waiting-%d", i), 1000, `"deliver":[{"sink":"gateway","strategy":"important"}]`)
	}
	testenv.Eventually(t, func() bool { return gateway.Asked() == callsAtATime }, 20*time.Second)
	with := n.inboxTimes("with", samples)
	if asked := gateway.Asked(); asked != callsAtATime {
		t.Errorf("%d calls, want those that hang", asked)
	}
	if waiting := n.deliveries("gateway", "pending"); waiting != dueDeliveries {
		t.Errorf("%d deliveries wait", waiting)
	}
	t.Logf("from the commit to the poll: %s without, %s with a dead webhook (medians)", before[samples/2], with[samples/2])
	// Who waits for the webhook waits for a minute. The rest is what a machine that does much else may take.
	if with[samples/2] > 3*before[samples/2]+100*time.Millisecond || with[samples*9/10] > 3*before[samples*9/10]+time.Second {
		t.Errorf("the inbox was slowed: without %v, with %v", before, with)
	}
}

// submit has a business system send so many notices, and returns when they are committed.
func (n *node) submit(key string, count int, more string) {
	n.t.Helper()
	one := fmt.Sprintf(`{"type":"REP_NOTICE","warehouse":"119240","title":%q,"body":"b",%s}`, key, more)
	body := `{"notices":[` + strings.TrimSuffix(strings.Repeat(one+",", count), ",") + `]}`
	if code, answer := n.do(http.MethodPost, "/api/v1/notices", "application/json", body, "Idempotency-Key", key); code != http.StatusCreated {
		n.t.Fatalf("sending answers %d: %.500s", code, answer)
	}
}

// inboxTimes sends notices to the inbox one by one, and returns how long each took from its commit to a poll that
// waited, sorted.
func (n *node) inboxTimes(name string, count int) []time.Duration {
	n.t.Helper()
	_, p := n.poll(nil)
	cursor := p.Cursor
	var list []time.Duration
	for i := range count {
		got := make(chan time.Time)
		after := cursor
		go func() {
			_, p := n.poll(url.Values{"after": {after}, "wait": {"20s"}})
			cursor = p.Cursor
			got <- time.Now()
		}()
		n.submit(fmt.Sprintf("%s-%d", name, i), 1, `"deliver":[{"sink":"inbox"}]`)
		committed := time.Now()
		list = append(list, (<-got).Sub(committed))
	}
	slices.Sort(list)
	return list
}

// A webhook that refuses is mended by its owner, and an operator has the failed delivery tried again: it arrives at
// once. One that waits for its time can be canceled. The sink tells how it does all the while, and shows nothing of its
// address.
func TestOperatorsMendDeliveries(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*site){
		"embedded": func(*site) {}, "real servers": func(s *site) { s.realServers() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, gateway := newSite(t), receive(t)
			s.webhook("gateway", gateway.server.URL+"/s3cret-path")
			prepare(s)
			gateway.say(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such bin", http.StatusBadRequest) })
			n := s.start("one")
			n.send(`{"notices":[
				{"type":"REP_NOTICE","warehouse":"119240","title":"refused","deliver":[{"sink":"gateway","strategy":"important"}]},
				{"type":"REP_NOTICE","warehouse":"119240","title":"later","deliver":[{"sink":"gateway","strategy":"delayed","delay":"1h"}]}]}`, http.StatusCreated)
			var refused wire.DeliveryForm
			testenv.Eventually(t, func() bool {
				list := ask[wire.DeliveriesForm](n, "/deliveries?sink=gateway&state=failed").Deliveries
				if len(list) == 1 {
					refused = list[0]
				}
				return len(list) == 1
			}, 10*time.Second)
			if refused.Title != "refused" || refused.Attempts != 1 || !strings.Contains(refused.LastError, "no such bin") || refused.Strategy.Kind != "important" {
				t.Fatalf("failed: %+v", refused)
			}
			sink := ask[wire.SinkForm](n, "/sinks/gateway")
			if !sink.OK || sink.Deliveries.Failed != 1 || sink.Deliveries.Pending != 1 || sink.Push.LastError == "" || sink.Settings.Concurrency != 8 {
				t.Errorf("the sink: %+v", sink)
			}

			gateway.say(nil)
			if code, body := n.do(http.MethodPost, deliveryURL(refused.ID, "retry"), "application/json", ""); code != http.StatusOK || strings.Contains(body, `"state":"failed"`) { // pending, or sent by now
				t.Fatalf("retry: %d %s", code, body)
			}
			testenv.Eventually(t, func() bool {
				return ask[wire.DeliveryForm](n, "/deliveries/"+strconv.FormatInt(refused.ID, 10)).State == "sent"
			}, 10*time.Second)
			if code, body := n.do(http.MethodPost, deliveryURL(refused.ID, "retry"), "application/json", ""); code != http.StatusConflict || !strings.Contains(body, "it was sent") {
				t.Errorf("retry of what was sent: %d %s", code, body)
			}

			later := ask[wire.DeliveriesForm](n, "/deliveries?state=pending").Deliveries
			if len(later) != 1 || later[0].NextAttempt == nil || later[0].NextAttempt.Sub(later[0].CreatedAt) != time.Hour {
				t.Fatalf("waiting: %+v", later)
			}
			if code, body := n.do(http.MethodPost, "/api/v1/deliveries/cancel", "application/json", `{"filter":{"sink":"gateway"},"reason":"told by phone"}`); code != http.StatusOK || !strings.Contains(body, `"changed":1`) {
				t.Fatalf("cancel: %d %s", code, body)
			}
			trace := ask[struct{ Deliveries []wire.DeliveryForm }](n, "/notices/"+later[0].Notice)
			if len(trace.Deliveries) != 1 || trace.Deliveries[0].State != "canceled" || trace.Deliveries[0].LastError != "told by phone" {
				t.Errorf("the notice: %+v", trace.Deliveries)
			}
			if titles := gateway.titles(); len(titles) != 2 {
				t.Errorf("the gateway got %v", titles)
			}
			for _, path := range []string{"/sinks", "/deliveries", "/status"} {
				if _, body := n.do(http.MethodGet, "/api/v1"+path, "application/json", ""); strings.Contains(body, "s3cret") || strings.Contains(body, "swordfish") {
					t.Errorf("%s shows a secret: %s", path, body)
				}
			}
		})
	}
}

func deliveryURL(id int64, verb string) string {
	return "/api/v1/deliveries/" + strconv.FormatInt(id, 10) + "/" + verb
}

// ask reads an answer of the API.
func ask[T any](n *node, path string) T {
	n.t.Helper()
	var form T
	code, body := n.do(http.MethodGet, "/api/v1"+path, "application/json", "")
	if err := json.Unmarshal([]byte(body), &form); err != nil || code != http.StatusOK {
		n.t.Fatalf("%s: %d %s (%v)", path, code, body, err)
	}
	return form
}
