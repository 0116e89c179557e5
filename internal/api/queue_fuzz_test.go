package api_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"tallyman/internal/item"
)

// FuzzQueueBodies sends any body to everything that takes one: each is understood, or refused with a problem that says why.
func FuzzQueueBodies(f *testing.F) {
	paths := []string{"/items", "/lease", "/step", "/items/a/ack", "/items/a/store", "/items/a/assign", "/remove", "/requeue", "/pause"}
	for n, body := range []string{
		`{"items":[{"id":"a","payload":{"bin":"A-01"},"priority":5,"dedupeKey":"k","delay":"1d12h"},{"payload":null}]}`,
		`{"worker":"w","max":2,"wait":"0s","lease":"60s","requestId":"r"}`,
		`{"worker":"w","ops":[{"op":"nack","id":"a","attempt":1,"delay":"1s","note":"n"},{"op":"extend","id":"b","attempt":2,"lease":"5m"},{"op":"remove","id":"c","force":true}]}`,
		`{"attempt":1,"worker":"w"}`, `{"days":3}`, `{"worker":""}`, `{"state":"dead","from":1,"to":2}`, `{"ids":["a","b"]}`, `{"test":true}`,
		`{"items":[{"payload":1,"test":true},{"payload":2}]}`, `{"items":[{"payload":1e999}]}`, `{"a":1}{"b":2}`, "[]", "null", "",
	} {
		f.Add(uint8(n), body)
	}
	b := newBundle()
	f.Fuzz(func(t *testing.T, n uint8, body string) {
		b.queue.empty()
		got := b.handleBody(t, http.MethodPost, queuePath+paths[int(n)%len(paths)], body)
		switch got.status {
		case http.StatusOK:
			if !json.Valid([]byte(got.body)) {
				t.Errorf("answered %q", got.body)
			}
		case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity:
			got.asProblem(t)
		default:
			t.Errorf("%d %s", got.status, got.body)
		}
		for _, q := range b.queue {
			for _, s := range q.stepped() {
				checkStep(t, &s)
			}
			for _, i := range q.items {
				if i.Priority < item.LowestPriority || i.Priority > item.HighestPriority || !json.Valid(i.Payload) || i.Due.Before(time.Time{}) {
					t.Errorf("pushed %+v", i)
				}
			}
		}
	})
}

// checkStep holds what reaches a queue against what the API promises of it.
func checkStep(t *testing.T, s *item.Step) {
	t.Helper()
	if s.Max < 0 || s.Max > item.MaxBatch || s.Lease < 0 || s.Wait < 0 || s.Wait > time.Minute || len(s.Ops) > item.MaxBatch || s.By == "" {
		t.Errorf("step %+v", s)
	}
	for _, op := range s.Ops {
		worker := op.Kind == item.Ack || op.Kind == item.Nack || op.Kind == item.Release || op.Kind == item.Extend
		if op.Delay < 0 || op.Attempt < 0 || worker && op.Attempt == 0 {
			t.Errorf("operation %+v", op)
		}
	}
}
