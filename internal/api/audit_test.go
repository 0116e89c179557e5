package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/engine"
	"tallyman/internal/ledger"
	"tallyman/internal/ledger/record"
	"tallyman/rules/catalog"
)

const gateType = `{"code":"GATE","id":7,"name":"Gate","category":"C","retention":"72h","fields":{}}`

// recordedByLedger are the operations whose changes are the ledger's: each calls a method that takes a ledger.Author and writes change and record in one
// transaction. internal/app's TestEveryChangeIsRecorded holds each of them to its record.
var recordedByLedger = []string{
	"create-type", "put-type", "delete-type", "create-subscription", "import-subscriptions", "delete-subscription", "confirm-subscriptions", "release-subscriptions", "confirm-scopes", "forget-scopes", "put-subscriber", "delete-subscriber",
	"retry-delivery", "cancel-delivery", "retry-deliveries", "cancel-deliveries", "promote-rule", "enable-rule", "disable-rule", "clear-rule", "pause-rules",
	"resume-rules", "reload-rules", "create-silence", "expire-silence", "create-token", "revoke-token", "pause-queue", "resume-queue", "set-queue-settings", "confirm-clock", "rewind-rule",
}

// recordedBefore are operations that change nothing of the ledger's and are recorded before they are carried out.
var recordedBefore = []string{"run-rule", "draft-rule", "preview-rule", "set-log-level", "drain"}

// recordedWithMoves are operations on queues: the order travels with the moves that it makes, and the ledger writes both in one transaction. So does
// what step does beside work.
var recordedWithMoves = []string{"remove-range", "requeue-items", "remove-item", "finish-item", "assign-item", "requeue-item", "set-item", "step"}

// unrecorded are operations that change no setting, and why they need no record.
var unrecorded = map[string]string{
	"read-notice":      "a reader's own mark, kept with the notice",
	"ack-notice":       "a reader's own mark, kept with the notice",
	"read-all-notices": "a reader's own marks",
	"send-notices":     "the notices themselves are the record",
	"preview-type":     "it sends nothing and asks no database of the site",
	"push-items":       "the item's trace says who and when, as of all work below",
	"lease-items":      "work",
	"ack-item":         "work",
	"nack-item":        "work",
	"release-item":     "work",
	"extend-item":      "work",
	"suspend-item":     "work",
	"store-item":       "work",

	"legacy-post-notifications": "a poll, whose parameters are in the body",
}

// Every operation that may change something is recorded, or says why not; and the lists name nothing that is not there.
func TestEveryOperationIsAuditedOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	doc, _ := readDocument(t)
	listed := map[string]int{}
	for _, id := range slices.Concat(recordedByLedger, recordedBefore, recordedWithMoves) {
		listed[id]++
	}
	for id := range unrecorded {
		listed[id]++
	}
	for path, item := range doc.Paths {
		for method, op := range item {
			if method == "get" {
				continue
			}
			if listed[op.OperationID] != 1 {
				t.Errorf("%s %s (%s) is in %d of the lists: say who records it, or why nobody does", method, path, op.OperationID, listed[op.OperationID])
			}
			delete(listed, op.OperationID)
		}
	}
	for id := range listed {
		t.Errorf("the lists have %s, the document does not", id)
	}
}

// The author of a change is the authenticated caller, whatever the request says.
func TestAuthorIsWhoWasAuthenticated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if got := b.do(t, http.MethodPut, "/api/v1/types/GATE", gateType, "Content-Type", "application/json", "User-Agent", "tallyman-cli/1.0"); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if want := (ledger.Author{By: "anonymous", Via: ledger.ViaNone}); b.catalogue.who != want {
		t.Errorf("%+v", b.catalogue.who)
	}
}

// A change that cannot be recorded is not made, and its answer says so. A refused change leaves no record.
func TestAChangeWithoutItsRecord(t *testing.T) {
	t.Parallel()
	rules := &fakeRules{ordered: &engine.RequestedFiring{Rule: "x", Due: bin().CreatedAt}}
	b := setup(t, func(d *parts) { d.Rules = rules })
	b.catalogue.unrecorded = fmt.Errorf("%w: disk full", ledger.ErrNotRecorded)
	b.audit.fail(b.catalogue.unrecorded)
	for _, got := range []answer{
		b.do(t, http.MethodPost, "/api/v1/types", gateType, "Content-Type", "application/json"), b.do(t, http.MethodPost, "/api/v1/rules/x/run", ""),
	} {
		if got.status != http.StatusServiceUnavailable || got.asProblem(t).Code != "audit_unavailable" || !strings.Contains(got.body, "nothing was changed") || strings.Contains(got.body, "disk") {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	if rules.begun != 0 {
		t.Error("the firing began")
	}
	b.catalogue.unrecorded = nil
	b.audit.fail(nil)
	if got := b.do(t, http.MethodPost, "/api/v1/rules/x/run", ""); got.status != http.StatusAccepted || rules.begun != 1 {
		t.Errorf("%d %s", got.status, got.body)
	}
	rules.err = &engine.UnknownError{What: "rule", Name: "x"}
	b.do(t, http.MethodPost, "/api/v1/rules/x/run", "")
	if list := b.audit.all(); len(list) != 1 || list[0].Action != "rule.run" || list[0].Object != "rule:x" || string(list[0].After) != `{"due":"2026-06-01T00:10:00Z","rule":"x","scope":""}` {
		t.Errorf("recorded %+v", list)
	}
}

// A worker's step is work and has no record. An operation of an operator goes to the queue with its author, and the
// ledger records both.
func TestOrdersGoWithWhoAsksForThem(t *testing.T) {
	t.Parallel()
	b := newBundle()
	for _, c := range []struct {
		method, path, body, action, object, reason, asked string
	}{
		{"POST", "/step", `{"worker":"w","max":1,"ops":[{"op":"ack","id":"a","attempt":1}]}`, "", "", "", ""},
		{"POST", "/lease", `{"worker":"w"}`, "", "", "", ""},
		{"POST", "/items/a/ack", `{"attempt":1}`, "", "", "", ""},
		{"POST", "/items/a/suspend", `{}`, "", "", "", ""},
		{"POST", "/step", `{"ops":[{"op":"ack","id":"a","attempt":1},{"op":"remove","id":"b","note":"by mistake"}]}`, "queue.step", "queue:replenishment", "", ""},
		{"POST", "/items/a/finish", `{"note":"by hand"}`, "item.finish", "item:replenishment:a", "by hand", ""},
		{"POST", "/items/a/assign", `{"worker":"w1","test":true}`, "item.assign", "item:replenishment:a", "", `{"test":true}`},
		{"POST", "/items/a/requeue", `{}`, "item.requeue", "item:replenishment:a", "", ""},
		{"DELETE", "/items/a?force=true&note=why", ``, "item.remove", "item:replenishment:a", "why", `{"force":true}`},
		{"POST", "/requeue", `{"ids":["a","b"]}`, "queue.requeue", "queue:replenishment", "", ""},
		{"POST", "/requeue", `{"all":true,"test":true}`, "queue.requeue", "queue:replenishment", "", `{"all":true,"test":true}`},
		{"POST", "/remove", `{"state":"dead","from":1,"to":9}`, "queue.remove", "queue:replenishment", "", `{"from":1,"state":"dead","to":9}`},
		{"POST", "/pause", `{"test":true}`, "queue.pause", "queue:replenishment", "", ""},
		{"POST", "/resume", ``, "queue.resume", "queue:replenishment", "", ""},
	} {
		b.handleBody(t, c.method, queuePath+c.path, c.body)
		orders := append(b.queue[0].ordered(), b.queue[1].ordered()...)
		if c.action == "" {
			if len(orders) != 0 {
				t.Errorf("%s: work has the order %+v", c.path, orders[0])
			}
			continue
		}
		if len(orders) != 1 {
			t.Errorf("%s has %d orders", c.path, len(orders))
			continue
		}
		if o := orders[0]; o.By != "anonymous" || o.Via != "none" || o.Action != c.action || o.Object != c.object || o.Reason != c.reason || string(o.Asked) != c.asked {
			t.Errorf("%s has the order %+v, asked %s", c.path, o, o.Asked)
		}
	}
}

func TestAuditIsListed(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *parts) {
		d.Silences.Now = func() time.Time { return time.Date(2026, 6, 1, 8, 15, 0, 0, time.UTC) } // The rules' clock.
	})
	who := ledger.Author{By: "anonymous", Via: ledger.ViaNone}
	gate, dock := catalog.Type{Code: "GATE", ID: 7, Name: "Gate", Category: "C", Retention: 72 * time.Hour}, catalog.Type{Code: "DOCK", ID: 8, Name: "Gate", Category: "C", Retention: 72 * time.Hour}
	for _, c := range []*ledger.Change{record.TypePut(nil, &gate), record.TypePut(nil, &dock), record.TypeDeleted(&gate)} {
		c.By, c.Via = who.By, who.Via
		if err := b.audit.AddChange(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	first := b.get(t, "/api/v1/audit?limit=2")
	golden(t, "audit.json", first.body)
	golden(t, "audit.xml", b.get(t, "/api/v1/audit?object=type:GATE&action=type.delete", "Accept", "application/xml").body)
	if rest := b.get(t, "/api/v1/audit?limit=2&after=2&by=anonymous&since=2026-06-01T00:00:00Z").body; strings.Count(rest, `"id":1,`) != 1 || strings.Contains(rest, "cursor") {
		t.Errorf("the rest is %s", rest)
	}
	for since, want := range map[string]int{"16m": 3, "15m": 3, "14m": 2, "13m30s": 1, "12m": 0} { // The records are of 08:00, 08:01 and 08:02.
		if got := b.get(t, "/api/v1/audit?since="+since).body; strings.Count(got, `"action":`) != want {
			t.Errorf("since %s: %s", since, got)
		}
	}
	for query, code := range map[string]string{"since=soon": "bad_since", "after=x": "bad_cursor", "limit=0": "bad_limit", "object=%00": "bad_text", "who=me": "unknown_parameter"} {
		if got := b.get(t, "/api/v1/audit?"+query); got.status != http.StatusBadRequest || !strings.Contains(got.body, code) {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
}

// Requests are counted by operation, whatever the path. All requests without an operation share one name.
func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.get(t, "/api/v1/types/REP_NOTICE")
	b.get(t, "/api/v1/types/NONE")
	b.get(t, "/api/v1/nothing")
	b.get(t, pollPath)
	b.meter.mu.Lock()
	defer b.meter.mu.Unlock()
	if want := []string{"get-type 200", "get-type 404", "(none) 404", "poll-notices 200"}; !slices.Equal(b.meter.requests, want) {
		t.Errorf("counted %q", b.meter.requests)
	}
}
