package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"tallyman/internal/auth"
	"tallyman/internal/ledger"
)

// pickers are workers of a queue of two warehouses.
func pickers(d *parts) {
	who := func(subject string, warehouse string, access ...auth.Role) auth.Identity {
		return auth.Identity{Subject: subject, Via: ledger.ViaJWT, Access: access, Warehouses: strings.Split(warehouse, " ")}
	}
	d.Auth = people{
		"picker-a":   who("service:picker-a", "W1", auth.Worker),
		"rival-a":    who("service:rival-a", "W1", auth.Worker),
		"picker-b":   who("service:picker-b", "W2", auth.Worker),
		"both":       who("service:both", "W1 W2", auth.Worker, auth.Producer),
		"producer-a": who("service:erp-a", "W1", auth.Producer),
		"producer-b": who("service:erp-b", "W2", auth.Producer),
		"chief-a":    who("user:chief-a", "W1", auth.Operator),
		"viewer-a":   who("user:viewer-a", "W1", auth.Viewer),
		"root":       who("user:root", "*", auth.Admin),
	}
}

// answer is the request of somebody, answered.
func (b *bundle) answer(t *testing.T, who, method, path, body string) (int, string) {
	t.Helper()
	got := b.handleBody(t, method, "/api/v1/queues/replenishment"+path, body, "Authorization", "Bearer "+who)
	return got.status, got.body
}

// Nobody learns of an item of another warehouse: it is answered as one that there never was.
func TestAnItemOfAnotherWarehouseIsAnsweredAsAnUnknownOne(t *testing.T) {
	t.Parallel()
	b := withRealQueue(t, pickers)
	for who, id := range map[string]string{"producer-a": "a", "producer-b": "b"} {
		if status, body := b.answer(t, who, http.MethodPost, "/items", `{"items":[{"id":"`+id+`-1","payload":1,"dedupeKey":"k"},{"id":"`+id+`-2","payload":1}]}`); status != http.StatusOK ||
			strings.Count(body, `"pushed"`) != 2 {
			t.Fatalf("%d %s", status, body)
		}
	}
	if status, body := b.answer(t, "root", http.MethodPost, "/items", `{"items":[{"id":"n-1","payload":1}]}`); status != http.StatusOK {
		t.Fatal(body)
	}
	if status, body := b.answer(t, "picker-b", http.MethodPost, "/lease", `{"worker":"scanner","max":1}`); status != http.StatusOK || !strings.Contains(body, `"b-1"`) {
		t.Fatalf("%d %s", status, body)
	}
	for _, r := range []struct{ who, method, path, body string }{
		{"picker-a", "GET", "/items/ID", ""},
		{"viewer-a", "GET", "/items/ID", ""},
		{"viewer-a", "GET", "/items/ID/rank", ""},
		{"picker-a", "POST", "/items/ID/ack", `{"attempt":1}`},
		{"picker-a", "POST", "/items/ID/nack", `{"attempt":1}`},
		{"picker-a", "POST", "/items/ID/release", `{"attempt":1}`},
		{"picker-a", "POST", "/items/ID/extend", `{"attempt":1}`},
		{"picker-a", "POST", "/items/ID/suspend", `{"attempt":1}`},
		{"picker-a", "POST", "/items/ID/store", `{"attempt":1,"days":1}`},
		{"picker-a", "POST", "/items/ID/assign", `{"attempt":1,"worker":"x"}`},
		{"chief-a", "POST", "/items/ID/ack", `{"attempt":1}`},
		{"chief-a", "POST", "/items/ID/suspend", `{}`},
		{"chief-a", "POST", "/items/ID/store", `{"days":1}`},
		{"chief-a", "POST", "/items/ID/assign", `{"worker":"x"}`},
		{"chief-a", "POST", "/items/ID/finish", `{}`},
		{"chief-a", "POST", "/items/ID/requeue", `{}`},
		{"chief-a", "DELETE", "/items/ID", ""},
		{"chief-a", "DELETE", "/items/ID?force=true", ""},
		{"chief-a", "POST", "/requeue", `{"ids":["ID"]}`},
		{"picker-a", "POST", "/step", `{"ops":[{"op":"ack","id":"ID","attempt":1},{"op":"extend","id":"ID","attempt":1}]}`},
		{"chief-a", "POST", "/step", `{"ops":[{"op":"remove","id":"ID","force":true},{"op":"finish","id":"ID"},{"op":"requeue","id":"ID"},{"op":"assign","id":"ID","worker":"x"}]}`},
	} {
		ask := func(id string) (int, string) {
			status, body := b.answer(t, r.who, r.method, strings.ReplaceAll(r.path, "ID", id), strings.ReplaceAll(r.body, "ID", id))
			var p map[string]any
			if json.Unmarshal([]byte(body), &p) == nil {
				delete(p, "requestId")
				cleaned, err := json.Marshal(p)
				if err != nil {
					t.Fatal(err)
				}
				body = string(cleaned)
			}
			return status, strings.ReplaceAll(body, id, "ID")
		}
		unknownStatus, unknown := ask("x-9")
		for _, id := range []string{"b-1", "b-2", "n-1"} {
			if status, body := ask(id); status != unknownStatus || body != unknown {
				t.Errorf("%s: %s %s of %s answers %d %s; an unknown one %d %s", r.who, r.method, r.path, id, status, body, unknownStatus, unknown)
			}
		}
	}
	for _, id := range []string{"b-1", "b-2", "n-1"} { // and nothing has happened to them
		if status, body := b.answer(t, "root", http.MethodGet, "/items/"+id, ""); status != http.StatusOK || !strings.Contains(body, map[bool]string{true: "leased", false: "ready"}[id == "b-1"]) {
			t.Errorf("%d %s", status, body)
		}
	}
}

func TestQueuesAreOfOnesOwnWarehouses(t *testing.T) {
	t.Parallel()
	b := withRealQueue(t, pickers)
	const queue = "/queues/replenishment"
	b.ask(t, []asking{
		// Pushes.
		{"producer-a", "POST", queue + "/items", `{"items":[{"id":"a-1","payload":1}]}`, 200, `"pushed"`},
		{"producer-a", "POST", queue + "/items", `{"items":[{"id":"a-2","warehouse":"W1","payload":1}]}`, 200, `"pushed"`},
		{"producer-a", "POST", queue + "/items", `{"items":[{"payload":1},{"warehouse":"W2","payload":1}]}`, 403, "warehouse_denied"},
		{"both", "POST", queue + "/items", `{"items":[{"payload":1}]}`, 422, "body.items[0].warehouse"},
		{"both", "POST", queue + "/items", `{"items":[{"id":"b-1","warehouse":"W2","payload":1}]}`, 200, `"pushed"`},
		{"both", "POST", queue + "/items", `{"items":[{"id":"b-2","warehouse":"a b","payload":1}]}`, 422, "body.items[0].warehouse"},
		{"root", "POST", queue + "/items", `{"items":[{"id":"n-1","payload":1,"priority":5}]}`, 200, `"pushed"`},
		{"producer-b", "POST", queue + "/items", `{"items":[{"id":"a-1","payload":1}]}`, 200, `"id_taken"`},
		{"producer-a", "POST", queue + "/items", `{"items":[{"id":"a-1","payload":1}]}`, 200, `"exists"`},
		// Lists, counts and ranks.
		{"producer-a", "GET", queue + "/items", "", 200, `{"items":[{"id":"a-1","warehouse":"W1"`},
		{"picker-b", "GET", queue + "/items", "", 200, `{"items":[{"id":"b-1","warehouse":"W2"`},
		{"root", "GET", queue + "/items?warehouse=W2", "", 200, `{"items":[{"id":"b-1"`},
		{"root", "GET", queue + "/items", "", 200, `{"items":[{"id":"n-1","state"`},
		{"picker-b", "GET", queue + "/items?warehouse=W1", "", 403, "warehouse_denied"},
		{"picker-b", "GET", queue + "/items?warehouse=a%20b", "", 400, "bad_warehouse"},
		{"picker-b", "GET", queue, "", 200, `"ready":1,"assigned":0`},
		{"picker-b", "GET", queue, "", 200, `"warehouses":[{"warehouse":"W2","ready":1,`},
		{"picker-b", "GET", "/queues", "", 200, `"warehouses":[{"warehouse":"W2","ready":1,`},
		{"picker-b", "GET", queue, "", 200, `"pushed":1,`},
		{"root", "GET", queue, "", 200, `"warehouses":[{"warehouse":"","ready":1,`},
		{"picker-b", "GET", queue + "/items/b-1/rank", "", 200, `"rank":1,`},
		{"root", "GET", queue + "/items/b-1/rank", "", 200, `"rank":4,`},
		// What touches all.
		{"chief-a", "POST", queue + "/pause", `{}`, 403, "this operation concerns all warehouses"},
		{"chief-a", "POST", queue + "/resume", `{}`, 403, "warehouse_denied"},
		{"chief-a", "POST", queue + "/settings", `{"lease":"2m"}`, 403, "this operation concerns all warehouses"},
		{"chief-a", "GET", queue + "/settings", "", 200, `"live":[]`},
		{"chief-a", "POST", queue + "/remove", `{"state":"ready","from":1,"to":100,"warehouse":"W2"}`, 403, "warehouse_denied"},
		{"chief-a", "POST", queue + "/remove", `{"state":"ready","from":2,"to":100}`, 200, `"removed":1`},
		{"root", "GET", queue + "/items/a-1", "", 200, `"ready"`},
		{"root", "GET", queue + "/items/b-1", "", 200, `"ready"`},
		// Leases: the first in the order of service is n-1, of no warehouse.
		{"picker-b", "POST", queue + "/lease", `{"worker":"scanner","max":10,"requestId":"r"}`, 200, `{"items":[{"id":"b-1","warehouse":"W2","attempt":1`},
		{"picker-a", "POST", queue + "/lease", `{"worker":"scanner","max":10,"requestId":"r"}`, 200, `{"items":[{"id":"a-1","warehouse":"W1","attempt":1`},
		{"rival-a", "POST", queue + "/lease", `{"worker":"scanner","max":10,"requestId":"r"}`, 200, `{"items":[]}`},
		{"rival-a", "POST", queue + "/items/a-1/ack", `{"attempt":1,"worker":"scanner"}`, 409, "lease_lost"},
		{"picker-a", "GET", queue + "/items/a-1", "", 200, `"worker":"service:picker-a/scanner"`},
		{"picker-a", "POST", queue + "/items/a-1/assign", `{"attempt":1,"worker":"service:rival-a/scanner"}`, 200, `"ready"`},
		{"picker-a", "POST", queue + "/lease", `{"worker":"scanner"}`, 200, `{"items":[]}`},
		{"rival-a", "POST", queue + "/lease", `{"worker":"scanner"}`, 200, `"a-1"`},
		{"chief-a", "POST", queue + "/items/a-1/ack", `{"attempt":2}`, 200, `"done"`},
		{"picker-a", "POST", queue + "/lease", `{"worker":"a/b"}`, 422, "body.worker"},
		{"chief-a", "POST", queue + "/items/b-1/assign", `{"worker":"a/b/c"}`, 422, "body.worker"},
	})
}
