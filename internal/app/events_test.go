package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
	"tallyman/sinks/queue"
	"tallyman/sinks/webhook"
)

// eventSite is a site whose queue tells a webhook of all events, and what receives them.
func eventSite(t *testing.T, onServers bool) (*site, *posts, *webhook.Settings) {
	t.Helper()
	s, gateway := newSite(t), receive(t)
	hook := s.webhook("gateway", gateway.server.URL)
	hook.Breaker.Failures = 1000
	q := queue.NewSettings()
	s.cfg.Sinks[workQueue] = q
	q.SuspendSteps, q.MaxAttempts = []time.Duration{time.Second}, 2
	q.Events = &queue.Events{
		Sink: "gateway", On: []string{"ready_again", "assigned", "dead", "done", "removed"}, Strategy: "important", Until: "sent",
	}
	if onServers {
		s.realServers()
	}
	return s, gateway, hook
}

// events are those that came so far, each once, as "a dead".
func (p *posts) events() (list []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := map[string]bool{}
	add := func(n map[string]any) {
		data, _ := n["data"].(map[string]any)
		if id, _ := n["id"].(string); !seen[id] {
			seen[id] = true
			list = append(list, fmt.Sprintf("%v %v", data["item"], data["event"]))
		}
	}
	for _, body := range p.bodies {
		several, _ := body["notices"].([]any)
		for _, one := range several {
			n, _ := one.(map[string]any)
			add(n)
		}
		if several == nil {
			add(body)
		}
	}
	return list
}

// of returns the events of an item, in the order in which they came.
func (p *posts) of(item string) []string {
	return slices.DeleteFunc(p.events(), func(e string) bool { return !strings.HasPrefix(e, item+" ") })
}

// queued does something in the queue.
func (n *node) queued(method, path, body string) string {
	n.t.Helper()
	code, text := n.do(method, "/api/v1/queues/"+workQueue+path, "application/json", body)
	if code/100 != 2 {
		n.t.Fatalf("%s %s: %d %s", method, path, code, text)
	}
	return text
}

// leased takes the item, which is the only one that is ready.
func (n *node) leased(item string) {
	n.t.Helper()
	testenv.Eventually(n.t, func() bool {
		return strings.Contains(n.queued(http.MethodPost, "/lease", `{"worker":"w"}`), `"id":"`+item+`"`)
	}, 20*time.Second)
}

// The business system gets each event of an item in order, even when the first one fails for a while. With the answer
// 410 it removes an item that it does not know any more.
func TestEventsOfItems(t *testing.T) {
	t.Parallel()
	for name, onServers := range map[string]bool{"embedded": false, "real servers": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, gateway, _ := eventSite(t, onServers)
			gateway.say(down)
			n := s.start("one")
			n.queued(http.MethodPost, "/items", `{"items":[{"id":"a","warehouse":"119240","priority":4,"order":"7.5","payload":{"order":4711}}]}`)
			n.leased("a")
			n.queued(http.MethodPost, "/items/a/nack", `{"attempt":1,"note":"no stock"}`)
			n.queued(http.MethodPost, "/items/a/assign", `{"worker":"keiko"}`)
			testenv.Eventually(t, func() bool { return len(gateway.titles()) > 1 }, 20*time.Second) // it is tried again
			n.queued(http.MethodPost, "/items/a/assign", `{"worker":""}`)
			n.leased("a")
			n.queued(http.MethodPost, "/items/a/nack", `{"attempt":2}`)
			n.queued(http.MethodPost, "/items/a/requeue", ``)
			n.queued(http.MethodPost, "/items/a/finish", ``)
			n.queued(http.MethodPost, "/items", `{"items":[{"id":"b","payload":{}}]}`)
			n.queued(http.MethodDelete, "/items/b", ``)
			testenv.Eventually(t, func() bool { return len(gateway.of("b")) == 1 }, 20*time.Second)
			if got := gateway.of("a"); len(got) != 1 {
				t.Errorf("while the first is tried there came %v", got)
			}
			gateway.say(nil)
			want := []string{"a ready_again", "a assigned", "a dead", "a ready_again", "a done"}
			testenv.Eventually(t, func() bool { return n.deliveries("gateway", "sent") == 6 }, 30*time.Second)
			if diff := cmp.Diff(want, gateway.of("a")); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			gateway.mu.Lock()
			first := gateway.bodies[0]
			gateway.mu.Unlock()
			data, _ := first["data"].(map[string]any)
			if first["type"] != "TALLYMAN_ITEM" || first["warehouse"] != "119240" || first["priority"] != 4.0 || first["order"] != "7.5" ||
				data["payload"] != `{"order":4711}` || data["note"] != "no stock" || data["by"] != "anonymous" || data["failures"] != 1.0 {
				t.Errorf("got %v", first)
			}

			gateway.say(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such order", http.StatusGone) })
			n.queued(http.MethodPost, "/items", `{"items":[{"id":"c","payload":{}}]}`)
			n.leased("c")
			n.queued(http.MethodPost, "/items/c/suspend", `{"attempt":1}`)
			testenv.Eventually(t, func() bool { return strings.Contains(n.queued(http.MethodGet, "/items/c", ``), `"state":"removed"`) }, 20*time.Second)
			if text := n.queued(http.MethodGet, "/items/c", ``); !strings.Contains(text, "answered 410") || !strings.Contains(text, `"sink:gateway"`) {
				t.Errorf("the item is %s", text)
			}
			testenv.Eventually(t, func() bool { return len(gateway.of("c")) == 2 }, 20*time.Second)
			if diff := cmp.Diff([]string{"c ready_again", "c removed"}, gateway.of("c")); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			var list wire.DeliveriesForm
			n.get("/deliveries?sink=gateway", &list)
			var removed, gone wire.DeliveryForm
			n.get("/deliveries/"+strconv.FormatInt(list.Deliveries[0].ID, 10), &removed)
			n.get("/deliveries/"+strconv.FormatInt(list.Deliveries[1].ID, 10), &gone)
			if gone.State != "sent" || gone.LastAttempts[0].Status != http.StatusGone || gone.LastAttempts[0].Error != "" {
				t.Errorf("the delivery of ready_again is %+v", gone)
			}
			if removed.State != "pending" || !strings.Contains(removed.LastError, "410 Gone: no such order") {
				t.Errorf("that of removed is %+v", removed)
			}
		})
	}
}

// The answer 410 to a call with several events does not say which item is gone. Then each event is sent alone.
func TestGoneInABatch(t *testing.T) {
	t.Parallel()
	s, gateway, hook := eventSite(t, false)
	hook.Batch.Max, hook.Batch.Wait = 10, 5*time.Second
	gateway.say(func(w http.ResponseWriter, _ *http.Request) {
		gateway.mu.Lock()
		last := fmt.Sprint(gateway.bodies[len(gateway.bodies)-1])
		gateway.mu.Unlock()
		if strings.Contains(last, "item:b") {
			w.WriteHeader(http.StatusGone)
		}
	})
	n := s.start("one")
	n.queued(http.MethodPost, "/items", `{"items":[{"id":"a","payload":{}},{"id":"b","payload":{}}]}`)
	for _, id := range []string{"a", "b"} {
		n.queued(http.MethodPost, "/items/"+id+"/suspend", ``)
	}
	testenv.Eventually(t, func() bool { return strings.Contains(n.queued(http.MethodGet, "/items/b", ``), `"state":"removed"`) }, 30*time.Second)
	if text := n.queued(http.MethodGet, "/items/a", ``); !strings.Contains(text, `"state":"ready"`) {
		t.Errorf("the other item is %s", text)
	}
}
