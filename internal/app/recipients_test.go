package app_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tallyman/internal/config"
	"tallyman/internal/testenv"
	"tallyman/sinks/webhook"
)

// A webhook names the recipients of a finding with what the address book knows, and one with each: user is called for
// each that has a phone; the end of the finding goes to the same. On both ledgers.
func TestWebhooksKnowTheRecipients(t *testing.T) {
	t.Parallel()
	for name, prepare := range environments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, all, each := newSite(t), testenv.NewHTTPServer(t), testenv.NewHTTPServer(t)
			for name, server := range map[string]*testenv.HTTPServer{"all": all, "each": each} {
				hook := webhook.NewSettings()
				hook.URL, hook.AllowPrivate = config.NewSecret(server.URL), true
				if name == "each" {
					hook.Each, hook.Address = "user", "phone"
				}
				s.channel(name, hook)
			}
			wms := prepare(s)
			for _, subscriber := range []string{"role:keeper", "user:ann", "user:ben", "user:nobody"} {
				s.cfg.Subscriptions.Seed = append(s.cfg.Subscriptions.Seed, config.Subscription{Type: "REP_NOTICE", Warehouse: "*", Subscriber: subscriber})
			}
			n := s.start("one")
			for id, entry := range map[string]string{
				"role:keeper": `{"phone":"110","tags":["dock"]}`, "user:ann": `{"name":"Ann Lee","language":"zh","phone":"+8613800000000","channels":{"jpush":"1"}}`, "user:ben": `{"alias":"ben"}`,
			} {
				if code, body := n.do(http.MethodPut, "/api/v1/subscribers/"+id, "application/json", entry); code != http.StatusCreated {
					t.Fatalf("%s: %d %s", id, code, body)
				}
			}
			n.stop()
			s.rule("stock.yaml", pushRule("{sink: all}, {sink: each}"))
			wms.exec(`INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', -3)`)
			n = s.start("two")
			keeper := `{"id":"role:keeper","phone":"110","tags":["dock"]}`
			ann := `{"id":"user:ann","name":"Ann Lee","language":"zh","phone":"+8613800000000","channels":{"jpush":"1"}}`
			wantAll, wantEach := []string{"[" + keeper + "," + ann + `,{"id":"user:ben","alias":"ben"},{"id":"user:nobody"}]`}, []string{"[" + keeper + "]", "[" + ann + "]"}
			told := func(times int) {
				t.Helper()
				testenv.Eventually(t, func() bool { return all.Asked() == times && each.Asked() == 2*times }, 15*time.Second)
				if diff := cmp.Diff(wantAll, recipientsIn(t, all.Requests()[times-1:])); diff != "" {
					t.Errorf("all, -want +got\n%s", diff)
				}
				if diff := cmp.Diff(wantEach, recipientsIn(t, each.Requests()[2*(times-1):])); diff != "" {
					t.Errorf("each, -want +got\n%s", diff)
				}
			}
			told(1)
			wms.exec(`UPDATE bin_stock SET qty = 20 WHERE bin_code = 'A-01'`)
			told(2)
			n.stop()
		})
	}
}

// recipientsIn returns the recipients that the calls name, sorted.
func recipientsIn(t *testing.T, calls []testenv.HTTPRequest) []string {
	t.Helper()
	var list []string
	for _, call := range calls {
		var body struct{ Recipients json.RawMessage }
		if err := json.Unmarshal(call.Body, &body); err != nil {
			t.Fatal(err)
		}
		list = append(list, string(body.Recipients))
	}
	slices.Sort(list)
	return list
}
