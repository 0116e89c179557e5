package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"tallyman/internal/wire"
)

// A business system sends to the inbox and a queue. A repeated request sends nothing again, on any node and after a
// restart. A reader can mark the notices in the reader's own inbox, and no others.
func TestABusinessSystemSends(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*site){
		"embedded": func(*site) {}, "real servers": func(s *site) { s.realServers() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			prepare(s)
			s.queue()
			n := s.start("one")
			const request = `{"notices":[
				{"type":"REP_NOTICE","warehouse":"119240","data":{"bin":"A-01","qty":-3.10},"priority":5,"deliver":[{"sink":"inbox"},{"sink":"replenishment"}]},
				{"type":"REP_NOTICE","warehouse":"119240","title":"Gate 3 is closed","recipients":["user:ann"]},
				{"type":"REP_NOTICE","warehouse":"119240","data":{"bin":"A-02"},"deliver":[{"sink":"replenishment"}]}]}`
			first, sent := n.send(request, http.StatusCreated)
			if len(sent) != 3 || sent[0].Deliveries != 2 || sent[1].Deliveries != 1 || sent[2].Deliveries != 1 {
				t.Fatalf("sent %+v", sent)
			}
			page := n.await(nil, 1)
			got := page.Notices[0]
			if got.ID != sent[0].ID || got.Status != "sent" || got.Title != "Replenishment notice" || got.Body != "bin: A-01\nqty: -3.10" ||
				got.Data["qty"] != "-3.10" || got.Priority != 5 || got.Rule != "" {
				t.Errorf("polled %+v", got)
			}
			n.await(map[string][]string{"subscriber": {"user:ann"}}, 1)
			n.awaitWork("ready", "A-01", "A-02")

			n.stop()
			n = s.start("two")
			if again, _ := n.send(request, http.StatusOK); again != first {
				t.Errorf("again: %s, at first %s", again, first)
			}
			if code, body := n.sendAs(strings.Replace(request, "Gate 3", "Gate 4", 1)); code != http.StatusConflict || !strings.Contains(body, "idempotency_key_reused") {
				t.Errorf("another request under the key: %d %s", code, body)
			}
			n.await(nil, 1)
			n.awaitWork("ready", "A-01", "A-02")

			for path, want := range map[string]int{
				sent[0].ID + "/read?warehouse=119240&subscriber=user:bob&subscriber=role:keeper": http.StatusNoContent,
				sent[0].ID + "/ack?warehouse=119240&subscriber=user:bob&subscriber=role:keeper":  http.StatusNoContent,
				sent[0].ID + "/ack?warehouse=119240&subscriber=user:bob":                         http.StatusNotFound,
				sent[1].ID + "/read?warehouse=119240&subscriber=user:ann":                        http.StatusNoContent,
				sent[1].ID + "/read?warehouse=119241&subscriber=user:ann":                        http.StatusNotFound,
				sent[2].ID + "/read?warehouse=119240&subscriber=user:ann":                        http.StatusNotFound,
			} {
				if code, body := n.do(http.MethodPost, "/api/v1/notices/"+path, "application/json", ""); code != want {
					t.Errorf("%s: %d %s", path, code, body)
				}
			}
		})
	}
}

// The metrics count what is sent, and the address book is kept.
func TestSentNoticesAreCounted(t *testing.T) {
	t.Parallel()
	n := newSite(t).start("one")
	n.send(`{"notices":[{"type":"REP_NOTICE","warehouse":"119240","title":"a"},{"type":"REP_NOTICE","warehouse":"119240","title":"b"}]}`, http.StatusCreated)
	if _, text := n.do(http.MethodGet, "/metrics", "*/*", ""); !strings.Contains(text, `tallyman_notices_total{status="sent",type="REP_NOTICE"} 2`) {
		t.Errorf("the metrics do not count what was sent")
	}
	if code, body := n.do(http.MethodPut, "/api/v1/subscribers/user:ann", "application/json", `{"mail":["ann@example.com"]}`); code != http.StatusCreated {
		t.Errorf("put: %d %s", code, body)
	}
	if code, body := n.do(http.MethodGet, "/api/v1/subscribers/user:ann", "application/json", ""); code != http.StatusOK || !strings.Contains(body, "ann@example.com") {
		t.Errorf("get: %d %s", code, body)
	}
}

// send sends the request under a key and returns the answer, as text and read.
func (n *node) send(request string, want int) (string, []wire.SentNoticeForm) {
	n.t.Helper()
	code, body := n.sendAs(request)
	if code != want {
		n.t.Fatalf("send: %d %s", code, body)
	}
	var sent wire.SentForm
	if err := json.Unmarshal([]byte(body), &sent); err != nil {
		n.t.Fatalf("%v in %s", err, body)
	}
	return body, sent.Notices
}

func (n *node) sendAs(request string) (int, string) {
	n.t.Helper()
	return n.do(http.MethodPost, "/api/v1/notices", "application/json", request, "Idempotency-Key", "order 4711")
}
