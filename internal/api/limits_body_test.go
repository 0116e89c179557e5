package api_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tallyman/engine/trial/preview"
	"tallyman/internal/authoring"
)

// TestBodiesOfEveryOperation sends each operation that takes a body one that is too large, and some that are nested too deeply. None is worth
// more than a refusal.
func TestBodiesOfEveryOperation(t *testing.T) {
	t.Parallel()
	f := &fakeRules{scopes: twoScopes()}
	b := newBundle(func(d *parts) { d.Rules, d.History, d.RuleFiles = f, f, ruleFiles })
	var doc document
	if err := json.Unmarshal([]byte(b.handle(t, "/openapi.json").body), &doc); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat(" ", 9<<20)
	deep := func(opens, inner, closes string, depth int) string {
		return strings.Repeat(opens, depth) + inner + strings.Repeat(closes, depth)
	}
	doc.eachBody(t, func(id, method, path string) {
		for _, c := range []struct {
			body  string
			codes []string
		}{
			{large, []string{"body_too_large"}},
			{deep("[", "", "]", 5_000), []string{"invalid_body", "body_too_large"}},
			{deep(`{"a":`, "1", "}", 5_000), []string{"invalid_body", "body_too_large"}},
			{deep("[", "", "]", 10_001), []string{"malformed_body", "body_too_large"}},
		} {
			got := b.handleBody(t, method, path, c.body, "Content-Type", "application/json")
			if p := got.asProblem(t); got.status >= http.StatusInternalServerError || !slices.Contains(c.codes, p.Code) {
				t.Errorf("%s %.20s…: %d %.300s", id, c.body, got.status, got.body)
			}
		}
	})
}

// eachBody calls visit for each operation that takes a body.
func (d *document) eachBody(t *testing.T, visit func(id, method, path string)) {
	t.Helper()
	operations := 0
	for path, item := range d.Paths {
		for method, op := range item {
			if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil { // TestLegacyProblemsAreXML has the one that takes no JSON
				continue
			}
			operations++
			path := strings.NewReplacer("/subscribers/{id}", "/subscribers/user:1", "{queue}", "replenishment", "{code}", "REP_NOTICE", "{id}", "1").Replace(path)
			visit(op.OperationID, strings.ToUpper(method), path)
		}
	}
	if operations < 15 {
		t.Errorf("only %d operations take a body", operations)
	}
}

// The limits of bodies that docs/reference/api.md names at body_too_large, by the ids of operations. All others have usualBody.
const usualBody = 64 << 10

var largerBodies = map[string]int{
	"draft-rule": 512 << 10, "step": 1 << 20, "requeue-items": 1 << 20, "import-subscriptions": 4 << 20, "push-items": 8 << 20, "send-notices": 8 << 20,
}

// validBodies are bodies that their operations take, by the ids of operations. All others take an empty object.
var validBodies = map[string]string{
	"send-notices":          `{"notices":[{"type":"REP_NOTICE","warehouse":"119240","title":"x","recipients":["user:1"]}]}`,
	"read-all-notices":      `{"upTo":"c0"}`,
	"push-items":            `{"items":[{"payload":1}]}`,
	"lease-items":           `{"worker":"w"}`,
	"ack-item":              `{"attempt":1}`,
	"nack-item":             `{"attempt":1}`,
	"release-item":          `{"attempt":1}`,
	"extend-item":           `{"attempt":1}`,
	"store-item":            `{"delay":"2h"}`,
	"assign-item":           `{"worker":"w"}`,
	"requeue-items":         `{"ids":["a"]}`,
	"retry-deliveries":      `{"ids":[1]}`,
	"cancel-deliveries":     `{"ids":[1]}`,
	"step":                  `{"worker":"w","max":1}`,
	"remove-range":          `{"state":"ready","from":1,"to":1}`,
	"draft-rule":            `{"text":"id: x"}`,
	"rewind-rule":           `{"to":["1"],"dryRun":true}`,
	"set-item":              `{"priority":5}`,
	"create-silence":        `{"matchers":["rule=x"],"for":"1h"}`,
	"create-subscription":   `{"type":"REP_NOTICE","warehouse":"119240","subscriber":"user:1"}`,
	"import-subscriptions":  `{"subscriptions":[{"type":"REP_NOTICE","warehouse":"119240","subscriber":"user:1"}]}`,
	"confirm-subscriptions": `{"hash":"5f2a9c0d1e3b4a67"}`,
	"confirm-scopes":        `{"hash":"5f2a9c0d1e3b4a67"}`,
	"set-log-level":         `{"level":"info"}`,
	"drain":                 `{"node":"one"}`,
	"create-token":          `{"subject":"user:x","access":["viewer"]}`,
	"create-type":           `{"code":"LOT","id":7,"name":"Lot"}`,
	"put-type":              `{"code":"REP_NOTICE","id":7,"name":"x","fields":{"bin":{"type":"string"}}}`,
	"preview-type":          `{"data":{"bin":"A-01"}}`,
}

// TestBodiesOfExactlyTheLimit sends each operation a good body of exactly its limit, which the operation reads to the last byte, and a body of one byte
// more, which the operation refuses. Both come with a Content-Length and without one.
func TestBodiesOfExactlyTheLimit(t *testing.T) {
	t.Parallel()
	b := newBundle()
	doc, _ := readDocument(t)
	seen := map[string]bool{}
	doc.eachBody(t, func(id, method, path string) {
		seen[id] = true
		limit, text := usualBody, "{}"
		if n := largerBodies[id]; n > 0 {
			limit = n
		}
		if valid := validBodies[id]; valid != "" {
			text = valid
		}
		for _, chunked := range []bool{false, true} {
			got := b.sendBody(t, method, path, padded(text, limit), "application/json", chunked)
			if code := got.codeOf(); slices.Contains([]string{"body_too_large", "malformed_body", "invalid_body", "internal"}, code) {
				t.Errorf("%s (chunked: %t), a body of the limit: %d %s", id, chunked, got.status, got.body)
			}
			got = b.sendBody(t, method, path, padded(text, limit+1), "application/json", chunked)
			if got.status != http.StatusRequestEntityTooLarge || got.codeOf() != "body_too_large" {
				t.Errorf("%s (chunked: %t), one byte more: %d %s", id, chunked, got.status, got.body)
			}
		}
	})
	for _, id := range slices.Concat(slices.Collect(maps.Keys(largerBodies)), slices.Collect(maps.Keys(validBodies))) {
		if !seen[id] {
			t.Errorf("no operation %s takes a body", id)
		}
	}
}

// TestBodiesOfExactlyTheLimitByType does so over a connection with each kind of Content-Type. A body of an unknown form is refused as one, unless it is too large.
func TestBodiesOfExactlyTheLimitByType(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for contentType, status := range map[string]int{
		"application/json": http.StatusOK, "application/json; charset=utf-8": http.StatusOK, "application/x+json": http.StatusOK, "": http.StatusOK,
		"application/xml": http.StatusOK, "text/plain": http.StatusUnsupportedMediaType,
	} {
		for _, chunked := range []bool{false, true} {
			for size, want := range map[int]int{usualBody: status, usualBody + 1: http.StatusRequestEntityTooLarge} {
				text := `{"name":"Ann"}`
				if contentType == "application/xml" {
					text = "<subscriber><name>Ann</name></subscriber>"
				}
				r := bodyRequest(t, http.MethodPut, b.url+"/api/v1/subscribers/user:1", padded(text, size), contentType, chunked)
				resp, err := b.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode == http.StatusCreated {
					resp.StatusCode = http.StatusOK
				}
				if err != nil || resp.StatusCode != want {
					t.Errorf("%q, %d bytes (chunked: %t): %d %s %v, want %d", contentType, size, chunked, resp.StatusCode, answer, err, want)
				}
			}
		}
	}
}

// TestWorkMayOutlastTheDeadlineOfItsBody has a preview take longer than its body may take to arrive. The server does not end the request, with a body or
// without one.
func TestWorkMayOutlastTheDeadlineOfItsBody(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *parts) {
		d.Rules = &fakeRules{scopes: twoScopes()}
		d.Preview = func(ctx context.Context, _ authoring.PreviewRequest) (*preview.Report, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(6 * time.Second): // a body has 5 s
				return &preview.Report{}, nil
			}
		}
	})
	for _, body := range []string{`{}`, ``} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			if got := b.do(t, http.MethodPost, "/api/v1/rules/negative-bin-stock/preview", body); got.status != http.StatusOK {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
}

// padded puts spaces before the text: who leaves out the last byte of the body leaves out its end.
func padded(text string, size int) string { return strings.Repeat(" ", size-len(text)) + text }

// bodyRequest is a request with the body; a chunked one does not say how long the body is.
func bodyRequest(t *testing.T, method, address, body, contentType string, chunked bool) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if chunked {
		r.ContentLength = -1
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return r
}

// sendBody is handleBody with a body that may be chunked.
func (b *bundle) sendBody(t *testing.T, method, path, body, contentType string, chunked bool) answer {
	t.Helper()
	rec := httptest.NewRecorder()
	b.api.ServeHTTP(rec, bodyRequest(t, method, "http://localhost"+path, body, contentType, chunked))
	return answer{rec.Code, rec.Header(), rec.Body.String()}
}

// codeOf is the code of the problem that was answered; "" where the answer is none.
func (a answer) codeOf() string {
	var p struct{ Code string }
	_ = json.Unmarshal([]byte(a.body), &p)
	return p.Code
}
