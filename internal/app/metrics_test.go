package app_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"tallyman/internal/config"
	"tallyman/internal/settings"
	"tallyman/internal/testenv"
)

// seenSpan is a span that the collector got, and the node that made it.
type seenSpan struct {
	*tracepb.Span

	node string
}

// collector receives spans like an OpenTelemetry collector.
type collector struct {
	*httptest.Server

	mu    sync.Mutex
	spans []seenSpan
	keys  []string // of X-Key
}

func newCollector(t testing.TB) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP decodes what OTLP/HTTP sends: the request's message has the fields of TracesData.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var data tracepb.TracesData
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(body, &data) != nil {
		http.Error(w, "no spans", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys = append(c.keys, r.Header.Get("X-Key"))
	for _, rs := range data.GetResourceSpans() {
		node := ""
		for _, a := range rs.GetResource().GetAttributes() {
			if a.GetKey() == "service.instance.id" {
				node = a.GetValue().GetStringValue()
			}
		}
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				c.spans = append(c.spans, seenSpan{s, node})
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// trace waits for the trace that has a span which fits, and for so many spans in it.
func (c *collector) trace(t testing.TB, spans int, fits func(seenSpan) bool) map[string][]seenSpan {
	t.Helper()
	var found map[string][]seenSpan
	testenv.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.IndexFunc(c.spans, fits)
		if i < 0 {
			return false
		}
		found = map[string][]seenSpan{}
		n := 0
		for _, s := range c.spans {
			if bytes.Equal(s.GetTraceId(), c.spans[i].GetTraceId()) {
				found[s.GetName()] = append(found[s.GetName()], s)
				n++
			}
		}
		return n >= spans
	}, 30*time.Second)
	return found
}

func (s *site) traced() *collector {
	c := newCollector(s.t)
	s.cfg.Telemetry.Traces = config.Traces{
		Endpoint: config.Endpoint(c.URL + "/v1/traces"), Headers: settings.Headers{"X-Key": config.NewSecret("swordfish")}, Sample: 1,
	}
	return c
}

// One trace leads from the firing on one node to the webhook that another node calls after the first has stopped, and
// into the receiver.
func TestOneTraceFromFiringToWebhook(t *testing.T) {
	t.Parallel()
	s, gateway := newSite(t), testenv.NewHTTPServer(t)
	spans := s.traced()
	gateway.Always(testenv.ReplyStatus(http.StatusServiceUnavailable, ""))
	s.webhook("gateway", gateway.URL)
	s.sqliteWMS().exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	s.rule("stock.yaml", pushRule("{sink: inbox}, {sink: gateway, strategy: important}"))
	one := s.start("one")
	testenv.Eventually(t, func() bool { return len(gateway.Requests()) > 0 }, 20*time.Second)
	one.stop()
	if err := os.Remove(filepath.Join(s.dir, "rules", "stock.yaml")); err != nil { // the second node only delivers
		t.Fatal(err)
	}
	gateway.Always(testenv.ReplyStatus(http.StatusNoContent, ""))
	s.start("two")

	taken := func(sp seenSpan) bool {
		return sp.GetName() == "deliver gateway" && sp.node == "two" && sp.GetStatus().GetMessage() == ""
	}
	trace := spans.trace(t, 8, taken)
	root := trace["run negative-bin-stock"]
	if len(root) != 1 || root[0].node != "one" || len(root[0].GetParentSpanId()) > 0 {
		t.Fatalf("the trace begins with %v", root)
	}
	for _, name := range []string{"claim", "scan", "judge", "commit", "deliver inbox", "deliver gateway"} {
		for _, sp := range trace[name] {
			if !bytes.Equal(sp.GetParentSpanId(), root[0].GetSpanId()) {
				t.Errorf("%s does not hang on the run", name)
			}
		}
		if len(trace[name]) == 0 {
			t.Errorf("no span %s in %v", name, trace)
		}
	}
	if tries := trace["deliver gateway"]; tries[0].node != "one" || tries[0].GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("the first attempt is %v", tries[0])
	}
	last := trace["deliver gateway"][slices.IndexFunc(trace["deliver gateway"], taken)]
	requests := gateway.Requests()
	want := traceparent(last.Span)
	if got := requests[len(requests)-1].Header.Get("Traceparent"); got != want {
		t.Errorf("the receiver was told %q, the span is %s", got, want)
	}
	if slices.ContainsFunc(spans.keys, func(k string) bool { return k != "swordfish" }) {
		t.Errorf("the collector was sent the keys %q", spans.keys)
	}
}

// A notice of a business system belongs to the trace of its request. Its deliveries have a trace of their own, which
// links to that trace.
func TestATraceOfASentNotice(t *testing.T) {
	t.Parallel()
	s, gateway := newSite(t), testenv.NewHTTPServer(t)
	spans := s.traced()
	s.webhook("gateway", gateway.URL)
	n := s.start("one")
	const caller = "0af7651916cd43dd8448eb211c80319c"
	code, body := n.do(http.MethodPost, "/api/v1/notices", "application/json",
		`{"notices":[{"type":"REP_NOTICE","warehouse":"119240","data":{"bin":"A-01"},"deliver":[{"sink":"gateway"}]}]}`,
		"Traceparent", "00-"+caller+"-b7ad6b7169203331-01")
	if code != http.StatusCreated {
		t.Fatalf("%d %s", code, body)
	}
	trace := spans.trace(t, 2, func(sp seenSpan) bool { return sp.GetName() == "deliver gateway" })
	send := trace["send"]
	if len(send) != 1 || len(send[0].GetLinks()) != 1 {
		t.Fatalf("the trace is %v", trace)
	}
	request := spans.trace(t, 1, func(sp seenSpan) bool { return sp.GetName() == "POST /api/v1/notices" })["POST /api/v1/notices"][0]
	if hexOf(request.GetTraceId()) != caller || hexOf(request.GetParentSpanId()) != "b7ad6b7169203331" {
		t.Errorf("the request is in the trace %s", hexOf(request.GetTraceId()))
	}
	if link := send[0].GetLinks()[0]; !bytes.Equal(link.GetSpanId(), request.GetSpanId()) {
		t.Error("what was sent is not linked with its request")
	}
}

// Without a collector there are no traces, and webhooks have no trace header.
func TestNoTraces(t *testing.T) {
	t.Parallel()
	s, gateway := newSite(t), testenv.NewHTTPServer(t)
	s.webhook("gateway", gateway.URL)
	s.sqliteWMS().exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	s.rule("stock.yaml", pushRule("{sink: gateway}"))
	s.start("one")
	testenv.Eventually(t, func() bool { return len(gateway.Requests()) > 0 }, 20*time.Second)
	if got := gateway.Requests()[0].Header.Get("Traceparent"); got != "" {
		t.Errorf("traceparent %q", got)
	}
}

func traceparent(s *tracepb.Span) string {
	return strings.Join([]string{"00", hexOf(s.GetTraceId()), hexOf(s.GetSpanId()), "01"}, "-")
}

func hexOf(id []byte) string { return hex.EncodeToString(id) }

var metricName = regexp.MustCompile(`tallyman_[a-z_]+`)

// A node that has run a rule, answered a poll, held a stream and called a webhook shows every metric that the dashboard
// and the alerts ask for.
func TestDashboardsOnALiveNode(t *testing.T) {
	t.Parallel()
	s, gateway := newSite(t), testenv.NewHTTPServer(t)
	s.queue()
	s.webhook("gateway", gateway.URL)
	wms, seed := s.sqliteWMS(), s.cfg.Subscriptions.Seed
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	wms.exec(subscribersTable)
	s.subscribersFrom(time.Second)
	s.cfg.Subscriptions.Seed = seed // notices need not wait for the source
	s.rule("stock.yaml", pushRule("{sink: inbox}, {sink: gateway}, {sink: "+workQueue+"}"))
	n := s.start("one")
	n.await(nil, 1)
	n.openAndLeaveStream()
	wanted := map[string]bool{}
	for _, file := range []string{"dashboards/tallyman.json", "alerts/tallyman.yaml"} {
		text, err := os.ReadFile("../../deploy/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range metricName.FindAllString(string(text), -1) {
			wanted[name] = true
		}
	}
	var missing []string
	testenv.Eventually(t, func() bool {
		_, body := n.do(http.MethodGet, "/metrics", "text/plain", "")
		missing = nil
		for name := range wanted {
			if !strings.Contains(body, "\n"+name+"{") && !strings.Contains(body, "\n"+name+" ") {
				missing = append(missing, name)
			}
		}
		return len(missing) == 0 || t.Context().Err() != nil
	}, 20*time.Second)
	if len(missing) > 0 || len(wanted) < 20 {
		t.Errorf("of %d, a live node has no %v", len(wanted), missing)
	}
}

// openAndLeaveStream opens a stream of notices, and leaves once it is answered.
func (n *node) openAndLeaveStream() {
	n.t.Helper()
	ctx, leave := context.WithCancel(n.t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.base+"/api/v1/notices/stream?warehouse=119240&subscriber=role:keeper", http.NoBody)
	if err != nil {
		n.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		n.t.Fatalf("the stream answers %d", resp.StatusCode)
	}
	if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
		n.t.Fatal(err)
	}
}
