package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/internal/config"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
	"tallyman/sinks/queue"
)

const workQueue = "replenishment"

// queue gives the site a queue, to which the rule that it returns delivers beside the inbox.
func (s *site) queue() (rule string) {
	s.cfg.Sinks[workQueue] = &queue.Settings{
		Timezone: queue.Timezone{Location: time.UTC}, Lease: time.Minute, MaxAttempts: 3, Dedupe: queue.Window{For: 36 * time.Hour}, SuspendSteps: []time.Duration{},
	}
	return strings.Replace(stockRule, "{sink: inbox}", "{sink: inbox}, {sink: "+workQueue+"}", 1)
}

// ask asks the queue.
func (n *node) ask(method, path, body string, answer any) int {
	n.t.Helper()
	code, text := n.do(method, "/api/v1/queues/"+workQueue+path, "application/json", body)
	if code == http.StatusOK {
		if err := json.Unmarshal([]byte(text), answer); err != nil {
			n.t.Fatalf("%v in %s", err, text)
		}
	}
	return code
}

// awaitWork waits until the items of the state are those bins, in that order.
func (n *node) awaitWork(state string, bins ...string) {
	n.t.Helper()
	testenv.Eventually(n.t, func() bool {
		var page wire.ItemsForm
		if n.ask(http.MethodGet, "/items?state="+state, "", &page) != http.StatusOK {
			return false
		}
		var got []string
		for _, one := range page.Items {
			var notice struct{ Data struct{ Bin string } }
			if err := json.Unmarshal(one.Payload, &notice); err != nil {
				n.t.Fatal(err)
			}
			got = append(got, notice.Data.Bin)
		}
		return slices.Equal(got, bins)
	}, 20*time.Second)
}

// The work of a rule, on the embedded default and on real servers: items come, are leased, done and taken back. A node that
// starts on an empty Redis has what is unfinished, and a lease of before is over.
func TestWorkOfARule(t *testing.T) {
	t.Parallel()
	for name, prepare := range environments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			wms := prepare(s)
			s.rule("stock.yaml", s.queue())
			wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3), (119240, 'A-02', 'S1', -3), (119240, 'A-03', 'S1', -3)`)
			n := s.start("one")
			n.await(nil, 3)
			n.awaitWork("ready", "A-01", "A-02", "A-03")
			var got wire.LeasedItemsForm
			n.ask(http.MethodPost, "/lease", `{"worker":"anna","max":2}`, &got)
			if len(got.Items) != 2 {
				t.Fatalf("leased %+v", got.Items)
			}
			act := func(i int, what, body string) int {
				return n.ask(http.MethodPost, "/items/"+got.Items[i].ID+"/"+what, body, &wire.ResultForm{})
			}
			if code := act(0, "ack", fmt.Sprintf(`{"attempt":%d}`, got.Items[0].Attempt)); code != http.StatusOK {
				t.Fatalf("ack: %d", code)
			}
			if code := act(1, "suspend", fmt.Sprintf(`{"attempt":%d}`, got.Items[1].Attempt)); code != http.StatusConflict {
				t.Errorf("suspended where suspend_steps is empty: %d", code)
			}
			wms.exec(`DELETE FROM bin_stock WHERE bin_code = 'A-03'`)
			n.awaitWork("removed", "A-03")

			metrics := func(want string) bool {
				_, text := n.do(http.MethodGet, "/metrics", "*/*", "")
				return strings.Contains(text, `tallyman_queue_items{queue="replenishment",state="leased"} `+want)
			}
			if !metrics("1") {
				t.Error("the metrics do not tell what is leased")
			}
			n.stop()

			n = s.start("two")
			if s.cfg.Ledger.Driver == config.SQLite { // with an embedded Redis, which is empty again
				n.awaitWork("ready", "A-02")
				if code := act(1, "ack", fmt.Sprintf(`{"attempt":%d}`, got.Items[1].Attempt)); code != http.StatusConflict {
					t.Errorf("an ack of a lease from before the loss: %d", code)
				}
			} else {
				n.awaitWork("leased", "A-02")
				if code := act(1, "ack", fmt.Sprintf(`{"attempt":%d}`, got.Items[1].Attempt)); code != http.StatusOK {
					t.Errorf("an ack after the restart: %d", code)
				}
			}
			n.awaitWork("removed", "A-03")
			var queue wire.QueueForm
			n.ask(http.MethodGet, "", "", &queue)
			if s := queue.Settings; s.Dedupe != "36h" || s.MaxAttempts != 3 || s.Lease != "1m" || len(s.SuspendSteps) != 0 {
				t.Errorf("settings %+v", s)
			}
		})
	}
}

// A queue that cannot be served makes the node unready, and /status says which. When Redis is back nothing is lost.
func TestAQueueThatIsNotReady(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := s.realServers()
	wms := s.postgresWMS()
	s.rule("stock.yaml", s.queue())
	n := s.start("one")
	n.awaitWork("ready")
	server.Kill()
	testenv.Eventually(t, func() bool {
		code, body := n.do(http.MethodGet, "/readyz", "*/*", "")
		return code == http.StatusServiceUnavailable && strings.Contains(body, "queue replenishment: ")
	}, 20*time.Second)
	unwell := false
	for _, h := range n.status().Health {
		unwell = unwell || h.Part == "redis" && h.Name == workQueue && !h.OK && h.Error != ""
	}
	if !unwell {
		t.Errorf("health: %+v", n.status().Health)
	}
	if code := n.ask(http.MethodPost, "/lease", `{"worker":"anna"}`, nil); code != http.StatusServiceUnavailable {
		t.Errorf("a lease without Redis: %d", code)
	}
	wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
	server.Restart()
	n.awaitWork("ready", "A-01")
	testenv.Eventually(t, func() bool { code, _ := n.do(http.MethodGet, "/readyz", "*/*", ""); return code == http.StatusOK }, 10*time.Second)
}
