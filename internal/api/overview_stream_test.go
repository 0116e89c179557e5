package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tallyman/internal/api/stream"
	"tallyman/internal/ledger"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
)

const overviewStreamPath = overviewPath + "/stream"

func TestOverviewStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeOverview()
		started := time.Now()
		b := newBundle(f.overviewing(func() time.Time { return bin().CreatedAt.Add(time.Since(started)) }), func(d *parts) { d.Auth = bearer{"one": narrow("119240")} })
		ended := make(chan struct{})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, overviewStreamPath, http.NoBody)
		r.Host = "localhost"
		r.Header.Set("Authorization", "one")
		rec := &guarded{ResponseRecorder: httptest.NewRecorder()}
		go func() {
			defer close(ended)
			b.api.ServeHTTP(rec, r)
		}()
		told := func(after time.Duration) (events, beats int) {
			pass(after)
			synctest.Wait()
			text := rec.take()
			return strings.Count(text, "event: overview\ndata: {"), strings.Count(text, ":\n\n")
		}
		if events, _ := told(0); events != 1 {
			t.Errorf("%d events at once", events)
		}
		f.change(func() { f.findings[2].Firing++ }) // in another's warehouse
		if events, beats := told(20 * time.Second); events != 0 || beats != 2 {
			t.Errorf("nothing has changed: %d events, %d heartbeats", events, beats)
		}
		pass(lookEvery / 4)
		for range 5 { // of which two are told together, and two more
			f.change(func() { f.findings[1].Firing++ })
			pass(lookEvery / 2)
		}
		if events, _ := told(2 * lookEvery); events != 3 {
			t.Errorf("%d events for 5 changes in 5 s", events)
		}
		b.deps.streams.Drain()
		<-ended
		if text := rec.take(); !strings.Contains(text, "event: end\ndata: {\"reason\":\"shutdown\"}") {
			t.Errorf("the end: %s", text)
		}
		if b.deps.streams.Open() != 0 {
			t.Error("it is still open")
		}
	})
}

// guarded is an answer that the test reads while it is written.
type guarded struct {
	*httptest.ResponseRecorder

	mu sync.Mutex
}

func (g *guarded) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ResponseRecorder.Write(p)
}

// Unwrap leads a response controller to the recorder.
func (g *guarded) Unwrap() http.ResponseWriter { return g.ResponseRecorder }

// take returns the bytes that were written since the previous call.
func (g *guarded) take() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	text := g.Body.String()
	g.Body.Reset()
	return text
}

func TestOverviewStreamsShareALook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakeOverview()
		b := newBundle(f.overviewing(func() time.Time { return bin().CreatedAt }))
		for range 50 {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, overviewStreamPath, http.NoBody)
			r.Host = "localhost"
			go b.api.ServeHTTP(httptest.NewRecorder(), r)
		}
		pass(5*lookEvery + lookEvery/2)
		for range 50 {
			b.handle(t, overviewPath)
		}
		b.deps.streams.Drain()
		synctest.Wait()
		if f.looks != 6 {
			t.Errorf("it was looked up %d times in 11 s", f.looks)
		}
	})
}

// TestOverviewStreamsEnd has streams on real connections end with their token, and counts them as others are.
func TestOverviewStreamsEnd(t *testing.T) {
	t.Parallel()
	h := newHolder()
	f := newFakeOverview()
	b := setup(t, h.in, f.overviewing(func() time.Time { return bin().CreatedAt }), func(d *parts) { d.Streams = stream.Limits{PerToken: 2} })
	id, header := h.token(t, time.Time{})
	_, other := h.token(t, time.Time{})
	one, two := b.listen(t, overviewStreamPath, "Authorization", header), b.listen(t, overviewStreamPath+"?warehouse=119241", "Authorization", header)
	mine := b.listen(t, overviewStreamPath, "Authorization", other)
	for _, l := range []*listener{one, mine} {
		if e := l.next(t, "overview"); findingsOf(t, e) != 3 || e.id != "" {
			t.Errorf("%+v", e)
		}
	}
	if e := two.next(t, "overview"); findingsOf(t, e) != 1 {
		t.Errorf("%+v", e)
	}
	if got := b.get(t, overviewStreamPath, "Authorization", header); got.status != http.StatusTooManyRequests || got.asProblem(t).Code != string(wire.CodeTooManyStreams) {
		t.Errorf("a third: %d %s", got.status, got.body)
	}
	h.tokens.Revoke(id)
	for _, l := range []*listener{one, two} {
		if got := l.reason(t); got != "revoked" {
			t.Errorf("the reason is %q", got)
		}
	}
	f.change(func() { f.findings = append(f.findings, ledger.FindingCount{Warehouse: "x", Firing: 1}) })
	if e := mine.next(t, "overview"); findingsOf(t, e) != 4 {
		t.Errorf("another token: %+v", e)
	}
	mine.leave()
	testenv.Eventually(t, func() bool { return b.deps.streams.Open() == 0 }, 20*time.Second)
}

func findingsOf(t *testing.T, e event) int {
	t.Helper()
	var data struct{ Findings []any }
	if err := json.Unmarshal([]byte(e.data), &data); err != nil {
		t.Fatal(err)
	}
	return len(data.Findings)
}

func TestOverviewStreamsAreEventsOnly(t *testing.T) {
	t.Parallel()
	var looked atomic.Bool
	b := newBundle(newFakeOverview().overviewing(func() time.Time {
		looked.Store(true)
		return bin().CreatedAt
	}))
	if got := b.handle(t, overviewStreamPath, "Accept", "application/json"); got.status != http.StatusNotAcceptable {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := b.handleBody(t, http.MethodHead, overviewStreamPath, ""); got.status != http.StatusOK || got.header.Get("Content-Type") != "text/event-stream" || looked.Load() {
		t.Errorf("HEAD: %d %v", got.status, got.header)
	}
}
