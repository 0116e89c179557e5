package app_test

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
)

var metricName = regexp.MustCompile(`tallyman_[a-z_]+`)

// A node that has run a rule, answered a poll, held a stream and called a webhook shows every metric that the dashboard and the alerts ask for.
func TestDashboardsOnALiveNode(t *testing.T) {
	t.Parallel()
	s, gateway := newSite(t), testenv.NewHTTPServer(t)
	s.queue()
	s.webhook("gateway", gateway.URL)
	s.sqliteWMS().exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	s.rule("stock.yaml", pushRule("{sink: inbox}, {sink: gateway}, {sink: "+workQueue+"}"))
	n := s.start("one")
	n.await(nil, 1)
	n.openAndLeaveStream()
	wanted := map[string]bool{}
	for _, file := range []string{"tallyman.json", "alerts.yaml"} {
		text, err := os.ReadFile("../../configs/dashboards/" + file)
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
