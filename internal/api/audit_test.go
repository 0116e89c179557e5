package api_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tallyman/internal/api"
)

const gateType = `{"code":"GATE","id":7,"name":"Gate","category":"C","retention":"72h","fields":{}}`

// Every operation that may change something says how that is recorded, or why it is not; and the tables name nothing that is not there.
func TestEveryOperationIsAuditedOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	doc, _ := readDocument(t)
	changing := map[string]bool{}
	for path, item := range doc.Paths {
		for method, op := range item {
			if method == "get" {
				continue
			}
			changing[op.OperationID] = true
			if recorded, why := api.Audited(op.OperationID); recorded == (why != "") {
				t.Errorf("%s %s (%s) is neither in the table of internal/api/audit_table.go, nor does unaudited say why, or both", method, path, op.OperationID)
			}
		}
	}
	for _, id := range api.AuditTables() {
		if !changing[id] {
			t.Errorf("the tables have %s, the document does not", id)
		}
	}
}

func TestAChangeIsRecordedFromWhatToWhat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, name := range []string{"Gate", "Gates"} {
		body := strings.Replace(gateType, `"name":"Gate"`, `"name":"`+name+`"`, 1)
		if got := b.do(t, http.MethodPut, "/api/v1/types/GATE", body, "Content-Type", "application/json", "User-Agent", api.CLIAgent+"1.0", "Accept", "application/xml"); got.status != http.StatusOK || !strings.Contains(got.body, name) {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	list := b.audit.all()
	if len(list) != 2 {
		t.Fatalf("%d records", len(list))
	}
	first, second := list[0], list[1]
	if first.Before != nil || !strings.Contains(string(first.After), `"name":"Gate"`) || string(second.Before) != string(first.After) || !strings.Contains(string(second.After), `"name":"Gates"`) {
		t.Errorf("from %s to %s, then from %s to %s", first.Before, first.After, second.Before, second.After)
	}
	if first.By != "anonymous" || first.Via != "cli" || first.Action != "type.put" || first.Object != "type:GATE" {
		t.Errorf("%+v", first)
	}
}

// What was done and could not be recorded is not answered as if it were fine; what was refused leaves no record.
func TestAChangeWithoutItsRecord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.audit.fail(errors.New("disk full"))
	got := b.do(t, http.MethodPost, "/api/v1/types", gateType, "Content-Type", "application/json")
	if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "audit_unavailable") || strings.Contains(got.body, "GATE") || strings.Contains(got.body, "disk") {
		t.Errorf("%d %s", got.status, got.body)
	}
	b.audit.fail(nil)
	if got := b.do(t, http.MethodPost, "/api/v1/types", gateType, "Content-Type", "application/json"); got.status != http.StatusConflict {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := b.do(t, http.MethodDelete, "/api/v1/types/NONE", ""); got.status != http.StatusNotFound {
		t.Errorf("%d %s", got.status, got.body)
	}
	if list := b.audit.all(); len(list) != 0 {
		t.Errorf("recorded %+v", list)
	}
}

func TestWhatStaysIsNoChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const one = `{"type":"REP_NOTICE","warehouse":"119240","subscriber":"role:auditor"}`
	for range 2 {
		b.do(t, http.MethodPost, "/api/v1/subscriptions", one, "Content-Type", "application/json")
	}
	list := b.audit.all()
	if len(list) != 1 || list[0].Object != "subscription:REP_NOTICE:119240:role:auditor" || string(list[0].After) != `{"subscriber":"role:auditor","type":"REP_NOTICE","warehouse":"119240"}` || list[0].Via != "api" {
		t.Errorf("%+v", list)
	}
}

// What has ended is not ended again, and whoever tried is not said to have done it.
func TestEndingTwiceIsRecordedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var made struct{ ID string }
	got := b.do(t, http.MethodPost, "/api/v1/tokens", `{"subject":"user:bo","access":["viewer"]}`, "Content-Type", "application/json")
	if err := json.Unmarshal([]byte(got.body), &made); err != nil {
		t.Fatal(err)
	}
	for action, path := range map[string]string{"silence.expire": "/api/v1/silences/s_stocktake/expire", "token.revoke": "/api/v1/tokens/" + made.ID + "/revoke"} {
		for range 2 {
			if got := b.do(t, http.MethodPost, path, ""); got.status != http.StatusOK {
				t.Fatalf("%d %s", got.status, got.body)
			}
		}
		var states []string
		for _, c := range b.audit.all() {
			if c.Action == action {
				states = append(states, stateIn(c.Before)+" to "+stateIn(c.After))
			}
		}
		want := map[string]string{"silence.expire": "active to expired", "token.revoke": "live to revoked"}[action]
		if len(states) != 1 || states[0] != want {
			t.Errorf("%s is recorded from %q, not from %s", action, states, want)
		}
	}
}

func stateIn(state json.RawMessage) string {
	var form struct{ State string }
	_ = json.Unmarshal(state, &form) // "" where there is none
	return form.State
}

// A worker's step is work; an operator's is recorded, with what came of it.
func TestAStepIsRecordedWhereItIsNotWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.do(t, http.MethodPost, "/api/v1/queues/replenishment/items", `{"items":[{"id":"a","priority":3,"payload":1},{"id":"b","priority":3,"payload":1}]}`, "Content-Type", "application/json")
	b.do(t, http.MethodPost, "/api/v1/queues/replenishment/step", `{"worker":"w","max":1}`, "Content-Type", "application/json")
	if list := b.audit.all(); len(list) != 0 {
		t.Errorf("work was recorded: %+v", list)
	}
	got := b.do(t, http.MethodPost, "/api/v1/queues/replenishment/step", `{"ops":[{"op":"remove","id":"b","note":"by mistake"},{"op":"remove","id":"none"}]}`, "Content-Type", "application/json")
	list := b.audit.all()
	if len(list) != 1 || list[0].Action != "queue.step" || list[0].Object != "queue:replenishment" || list[0].Via != "api" ||
		string(list[0].After) != `[{"id":"b","note":"by mistake","op":"remove","outcome":"ok"}]` {
		t.Errorf("%d %s recorded %+v", got.status, got.body, list)
	}
}

func TestAuditIsListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, path := range []string{"GATE", "DOCK"} {
		body := strings.NewReplacer("GATE", path, `"id":7`, `"id":`+map[string]string{"GATE": "7", "DOCK": "8"}[path]).Replace(gateType)
		b.do(t, http.MethodPut, "/api/v1/types/"+path, body, "Content-Type", "application/json")
	}
	b.do(t, http.MethodDelete, "/api/v1/types/GATE", "")
	first := b.get(t, "/api/v1/audit?limit=2")
	golden(t, "audit.json", first.body)
	golden(t, "audit.xml", b.get(t, "/api/v1/audit?object=type:GATE&action=type.delete", "Accept", "application/xml").body)
	if rest := b.get(t, "/api/v1/audit?limit=2&after=2&by=anonymous&since=2026-06-01T00:00:00Z").body; strings.Count(rest, `"id":1,`) != 1 || strings.Contains(rest, "cursor") {
		t.Errorf("the rest is %s", rest)
	}
	for query, code := range map[string]string{"since=soon": "bad_since", "after=x": "bad_cursor", "limit=0": "bad_limit", "object=%00": "bad_text", "who=me": "unknown_parameter"} {
		if got := b.get(t, "/api/v1/audit?"+query); got.status != http.StatusBadRequest || !strings.Contains(got.body, code) {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
}

// Requests are counted by their operation, whatever the path; what is none has one name.
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
