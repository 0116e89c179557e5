package app_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

// A webhook that refuses is mended by its owner, and an operator has the failed delivery tried again: it arrives at once. One that waits for
// its time can be canceled. The sink tells how it does all the while, and shows nothing of its address.
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
			if code, body := n.do(http.MethodPost, deliveryURL(refused.ID, "retry"), "application/json", ""); code != http.StatusOK || !strings.Contains(body, `"state":"pending"`) {
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
