package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tallyman/internal/auth"
	"tallyman/internal/item"
	"tallyman/sinks"
)

func TestQueueRefusals(t *testing.T) {
	t.Parallel()
	b := newBundle()
	for _, tc := range []struct {
		method, path, body string
		status             int
		code, location     string
	}{
		{"GET", "/api/v1/queues/nothing", "", 404, "queue_not_found", ""},
		{"GET", "/api/v1/queues/nothing/items", "", 404, "queue_not_found", ""},
		{"GET", "/api/v1/queues/nothing/items/a", "", 404, "queue_not_found", ""},
		{"GET", "/api/v1/queues/nothing/items/a/rank", "", 404, "queue_not_found", ""},
		{"DELETE", "/api/v1/queues/nothing/items/a", "", 404, "queue_not_found", ""},
		{"POST", "/api/v1/queues/nothing/items", `{"items":[{"payload":1}]}`, 404, "queue_not_found", ""},
		{"POST", "/api/v1/queues/nothing/items/a/ack", `{"attempt":1}`, 404, "queue_not_found", ""},
		{"POST", "/api/v1/queues/nothing/lease", `{"worker":"w"}`, 404, "queue_not_found", ""},
		{"POST", "/api/v1/queues/nothing/step", `{}`, 404, "queue_not_found", ""},
		{"POST", "/api/v1/queues/nothing/pause", ``, 404, "queue_not_found", ""},
		{"POST", "/api/v1/queues/nothing/remove", `{"state":"dead","from":1,"to":1}`, 404, "queue_not_found", ""},
		{"POST", "/api/v1/queues/nothing/requeue", `{"all":true}`, 404, "queue_not_found", ""},

		{"GET", "?test=yes", "", 400, "invalid_parameter", ""},
		{"GET", "/api/v1/queues?test=yes", "", 400, "invalid_parameter", ""},
		{"GET", "?Test=true", "", 400, "unknown_parameter", ""},
		{"GET", "/items?state=gone", "", 400, "invalid_parameter", ""},
		{"GET", "/items?limit=0", "", 400, "bad_limit", ""},
		{"GET", "/items?limit=1001", "", 400, "bad_limit", ""},
		{"GET", "/items?limit=ten", "", 400, "bad_limit", ""},
		{"GET", "/items?after=x", "", 400, "bad_cursor", ""},
		{"GET", "/items?after=3", "", 400, "bad_cursor", ""},
		{"GET", "/items?after=-3.next", "", 400, "bad_cursor", ""},
		{"GET", "/items?after=3.unheard-of", "", 400, "bad_cursor", ""},
		{"GET", "/items?state=refused", "", 400, "invalid_parameter", ""},
		{"GET", "/items?test=1", "", 400, "invalid_parameter", ""},
		{"GET", "/items/nothing", "", 404, "item_not_found", ""},
		{"GET", "/items/nothing?test=1", "", 400, "invalid_parameter", ""},
		{"GET", "/items/nothing/rank", "", 404, "item_not_found", ""},
		{"GET", "/items/nothing/rank?test=1", "", 400, "invalid_parameter", ""},
		{"DELETE", "/items/nothing", "", 404, "item_not_found", ""},
		{"DELETE", "/items/nothing?force=1", "", 400, "invalid_parameter", ""},
		{"DELETE", "/items/nothing?test=1", "", 400, "invalid_parameter", ""},

		{"POST", "/items", "", 400, "malformed_body", ""},
		{"POST", "/items", `{"items":[{"payload":}]}`, 400, "malformed_body", ""},
		{"POST", "/items", `{"items":[]}`, 422, "invalid_body", "body.items"},
		{"POST", "/items", `{"items":null}`, 422, "invalid_body", "body.items"},
		{"POST", "/items", `{"items":[{"id":"a"}]}`, 422, "invalid_body", "body.items[0]"},
		{"POST", "/items", `{"items":[{"payload":1},{"payload":1,"priority":6}]}`, 422, "invalid_body", "body.items[1].priority"},
		{"POST", "/items", `{"items":[{"payload":1,"priority":0}]}`, 422, "invalid_body", "body.items[0].priority"},
		{"POST", "/items", `{"items":[{"payload":1,"delay":"soon"}]}`, 422, "invalid_body", "body.items[0].delay"},
		{"POST", "/items", `{"items":[{"payload":1},{"payload":1,"delay":"-1s"}]}`, 422, "invalid_body", "body.items[1].delay"},
		{"POST", "/items", `{"items":[{"payload":1,"dedupeKey":"` + long(513) + `"}]}`, 422, "invalid_body", "body.items[0].dedupeKey"},
		{"POST", "/items", `{"items":[{"payload":1,"subject":"x"}]}`, 422, "invalid_body", "body.items[0].subject"},
		{"POST", "/items", `{"items":[{"payload":1},{"payload":"` + long(item.MaxPayload) + `"}]}`, 422, "invalid_body", "body.items[1].payload"},
		{"POST", "/items", `{"items":[{"payload":1},{"payload":1,"test":true}]}`, 422, "invalid_body", "body.items[1].test"},
		{"POST", "/items", `{"items":[` + strings.Repeat(`{"payload":1},`, 1000) + `{"payload":1}]}`, 422, "invalid_body", "body.items"},
		{"POST", "/items", `{"items":[{"payload":"` + long(8<<20) + `"}]}`, 413, "body_too_large", ""},

		{"POST", "/lease", `{}`, 422, "invalid_body", "body"},
		{"POST", "/lease", `{"worker":""}`, 422, "invalid_body", "body.worker"},
		{"POST", "/lease", `{"worker":"w","max":0}`, 422, "invalid_body", "body.max"},
		{"POST", "/lease", `{"worker":"w","max":1001}`, 422, "invalid_body", "body.max"},
		{"POST", "/lease", `{"worker":"w","wait":"61s"}`, 422, "invalid_body", "body.wait"},
		{"POST", "/lease", `{"worker":"w","wait":"-1s"}`, 422, "invalid_body", "body.wait"},
		{"POST", "/lease", `{"worker":"w","wait":25}`, 422, "invalid_body", "body.wait"},
		{"POST", "/lease", `{"worker":"w","lease":"long"}`, 422, "invalid_body", "body.lease"},

		{"POST", "/step", `{"ops":[{"op":"eat","id":"a"}]}`, 422, "invalid_body", "body.ops[0].op"},
		{"POST", "/step", `{"ops":[{"op":"ack","attempt":1}]}`, 422, "invalid_body", "body.ops[0]"},
		{"POST", "/step", `{"ops":[{"op":"ack","id":"a"}]}`, 422, "invalid_body", "body.ops[0].attempt"},
		{"POST", "/step", `{"ops":[{"op":"finish","id":"a"},{"op":"remove","id":"a","attempt":1}]}`, 422, "invalid_body", "body.ops[1].attempt"},
		{"POST", "/step", `{"ops":[{"op":"ack","id":"a","attempt":1,"delay":"1s"}]}`, 422, "invalid_body", "body.ops[0].delay"},
		{"POST", "/step", `{"ops":[{"op":"nack","id":"a","attempt":1,"days":1}]}`, 422, "invalid_body", "body.ops[0].days"},
		{"POST", "/step", `{"ops":[{"op":"nack","id":"a","attempt":1,"lease":"1m"}]}`, 422, "invalid_body", "body.ops[0].lease"},
		{"POST", "/step", `{"ops":[{"op":"store","id":"a","days":1,"delay":"1d"}]}`, 422, "invalid_body", "body.ops[0].days"},
		{"POST", "/step", `{"ops":[{"op":"store","id":"a"}]}`, 422, "invalid_body", "body.ops[0].delay"},
		{"POST", "/step", `{"ops":[{"op":"extend","id":"a","attempt":1,"lease":"1y"}]}`, 422, "invalid_body", "body.ops[0].lease"},
		{"POST", "/step", `{"ops":[{"op":"assign","id":"a"}]}`, 422, "invalid_body", "body.ops[0].worker"},
		{"POST", "/step", `{"ops":[{"op":"finish","id":"a","worker":"w"}]}`, 422, "invalid_body", "body.ops[0].worker"},
		{"POST", "/step", `{"ops":[{"op":"ack","id":"a","attempt":1,"force":true}]}`, 422, "invalid_body", "body.ops[0].force"},
		{"POST", "/step", `{"ops":[{"op":"ack","id":"a","attempt":1.5}]}`, 422, "invalid_body", "body.ops[0].attempt"},
		{"POST", "/step", `{"wait":"2m","max":1,"worker":"w"}`, 422, "invalid_body", "body.wait"},
		{"POST", "/step", `{"ops":[{"op":"ack","id":"a","attempt":1,"note":"` + long(1<<20) + `"}]}`, 413, "body_too_large", ""},

		{"POST", "/items/a/ack", "", 422, "invalid_body", "body.attempt"},
		{"POST", "/items/a/ack", `{"attempt":0}`, 422, "invalid_body", "body.attempt"},
		{"POST", "/items/a/release", `{"attempt":1,"delay":"1s"}`, 422, "invalid_body", "body.delay"},
		{"POST", "/items/a/store", `{"days":367}`, 422, "invalid_body", "body.days"},
		{"POST", "/items/a/assign", `{}`, 422, "invalid_body", "body.worker"},
		{"POST", "/items/a/finish", `{"force":true}`, 422, "invalid_body", "body.force"},
		{"POST", "/items/a/eat", "{}", 404, "not_found", ""},
		{"GET", "/items/a/ack", "", 405, "method_not_allowed", ""},

		{"POST", "/remove", `{"state":"leased","from":1,"to":1}`, 422, "invalid_body", "body.state"},
		{"POST", "/remove", `{"state":"ready","from":0,"to":1}`, 422, "invalid_body", "body.from"},
		{"POST", "/remove", `{"state":"ready","from":3,"to":2}`, 422, "invalid_body", "body.to"},
		{"POST", "/remove", `{"state":"ready"}`, 422, "invalid_body", "body"},
		{"POST", "/requeue", `{}`, 422, "invalid_body", "body.ids"},
		{"POST", "/requeue", `{"all":true,"ids":["a"]}`, 422, "invalid_body", "body.ids"},
		{"POST", "/requeue", "", 400, "malformed_body", ""},
		{"POST", "/pause", `{"for":"1h"}`, 422, "invalid_body", "body.for"},
	} {
		path := tc.path
		if !strings.HasPrefix(path, "/api") {
			path = queuePath + path
		}
		got := b.handleBody(t, tc.method, path, tc.body)
		p := got.asProblem(t)
		at := ""
		if len(p.Errors) > 0 {
			at = p.Errors[0].Location
		}
		if got.status != tc.status || p.Code != tc.code || tc.location != "" && at != tc.location {
			t.Errorf("%s %s %.80s: %d %s at %q (%s), want %d %s at %q", tc.method, path, tc.body, got.status, p.Code, at, p.Detail, tc.status, tc.code, tc.location)
		}
	}
	for _, q := range b.queue {
		if steps := q.stepped(); len(steps) > 1 || len(q.items) > 0 { // one is the removal of nothing
			t.Errorf("bad requests reached the queue: %+v, %+v", steps, q.items)
		}
	}
}

// TestQueueFailures asks a queue that fails for everything that can be asked.
func TestQueueFailures(t *testing.T) {
	t.Parallel()
	b := newBundle()
	requests := [][3]string{
		{"GET", "", ""},
		{"GET", "/items", ""},
		{"GET", "/items/a", ""},
		{"GET", "/items/a/rank", ""},
		{"DELETE", "/items/a", ""},
		{"POST", "/items", `{"items":[{"payload":1}]}`},
		{"POST", "/items/a/ack", `{"attempt":1}`},
		{"POST", "/lease", `{"worker":"w","wait":"1s"}`},
		{"POST", "/step", `{"worker":"w"}`},
		{"POST", "/pause", ""},
		{"POST", "/resume", ""},
		{"POST", "/remove", `{"state":"dead","from":1,"to":1}`},
		{"POST", "/requeue", `{"all":true}`},
		{"POST", "/requeue", `{"ids":["a"]}`},
	}
	for _, tc := range []struct {
		err    error
		status int
		code   string
	}{
		{fmt.Errorf("%w: %w", sinks.ErrUnavailable, errBroken), http.StatusServiceUnavailable, "queue_unavailable"},
		{errBroken, http.StatusServiceUnavailable, "queue_unavailable"},
	} {
		b.queue.fail(tc.err)
		for _, r := range requests {
			got := b.handleBody(t, r[0], queuePath+r[1], r[2])
			if p := got.asProblem(t); got.status != tc.status || p.Code != tc.code || got.header.Get("Retry-After") != "1" || strings.Contains(got.body, "hunter2") {
				t.Errorf("%s %s: %d %s", r[0], r[1], got.status, got.body)
			}
		}
	}
	if got := b.handle(t, "/api/v1/queues"); got.asProblem(t).Code != "queue_unavailable" {
		t.Errorf("the list: %d %s", got.status, got.body)
	}
	log := b.log.String()
	for line := range strings.SplitSeq(log, "\n") {
		if strings.Contains(line, "its queue reported an error") && strings.Contains(line, "not in reach") && !strings.Contains(line, "level=DEBUG") {
			t.Errorf("what the queue logs once is logged for each request: %s", line)
		}
	}
	if !strings.Contains(log, "level=ERROR msg=\"Request failed, because its queue reported an error.\" queue=replenishment") {
		t.Error("the log does not have the cause")
	}
	b.queue.fail(&item.InvalidError{Field: "id", Index: 0, Message: "no name"})
	for _, r := range [][4]string{
		{"POST", "/items/-/ack", `{"attempt":1}`, "path.id"},
		{"DELETE", "/items/-", "", "path.id"},
		{"POST", "/requeue", `{"ids":["-"]}`, "body.ids[0]"},
		{"POST", "/step", `{"ops":[{"op":"finish","id":"-"}]}`, "body.ops[0].id"},
		{"POST", "/items", `{"items":[{"payload":1}]}`, "body.items[0].id"},
	} {
		p := b.handleBody(t, r[0], queuePath+r[1], r[2]).asProblem(t)
		if p.Code != "invalid_body" || p.Errors[0].Location != r[3] {
			t.Errorf("%s %s: %+v", r[0], r[1], p)
		}
	}
}

func TestWithoutQueues(t *testing.T) {
	t.Parallel()
	b := newBundle(func(d *parts) { d.Queues = nil })
	b.follow(t, []request{
		{"GET", "/api/v1/queues", "", 200, `{"queues":[]}`},
		{"GET", queuePath, "", 404, `there is no queue \"replenishment\""`},
	})
}

// named is an authenticator that knows everybody by that name.
type named string

func (n named) Authenticate(*http.Request) (auth.Identity, error) {
	if n == "" {
		return auth.Identity{}, errors.New("nobody")
	}
	return auth.Identity{Subject: string(n), Access: auth.Roles(), Warehouses: []string{auth.AllWarehouses}}, nil
}

func TestTheTraceNamesTheWorkerOrWhoAsked(t *testing.T) {
	t.Parallel()
	known := map[string]string{}
	for subject, want := range map[string]string{
		"anna": "anna", "Anna Å": "Anna__", "auth0|7": "auth0_7", "_x": "x", "anna@example.com": "anna@example.com", long(200): long(128),
	} {
		b := newBundle(func(d *parts) { d.Auth = named(subject) })
		for _, body := range []string{`{"attempt":1}`, `{"attempt":1,"worker":"w1"}`} {
			b.handleBody(t, http.MethodPost, queuePath+"/items/a/ack", body)
		}
		b.handleBody(t, http.MethodPost, queuePath+"/items/a/assign", `{"worker":"w2"}`)
		steps := b.queue[0].stepped()
		name := steps[1].Subject
		if (name == subject) != (want == subject) || !strings.HasPrefix(name, want[:min(len(want), 90)]) || len(name) > item.MaxName || known[name] != "" {
			t.Errorf("the subject %s is %s, as %s is", subject, name, known[name])
		}
		known[name] = subject
		if steps[0].By != want || steps[1].By != name+"/w1" || steps[2].By != want || steps[2].Ops[0].Worker != "w2" {
			t.Errorf("%s: %+v", subject, steps)
		}
	}
}
