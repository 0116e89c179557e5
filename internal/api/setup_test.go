package api_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"tallyman/internal/api"
	"tallyman/internal/api/operate"
	"tallyman/internal/api/send"
	"tallyman/internal/api/view"
	"tallyman/internal/auth"
	"tallyman/internal/item"
	"tallyman/internal/notice"
	"tallyman/internal/testenv"
	"tallyman/internal/wire"
	"tallyman/sinks/inbox/page"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	if addr := os.Getenv(clientsEnv); addr != "" {
		os.Exit(streamClients(addr)) //nolint:forbidigo // this is the main function of the other process
	}
	testenv.Main(m)
}

// bundle is an API over fakes on a real server.
type bundle struct {
	inbox      *fakeInbox
	catalogue  *fakeCatalogue
	book       *fakeBook
	marks      *fakeMarks
	reads      *fakeReads
	sends      *fakeSends
	deliveries *fakeDeliveries
	silences   *fakeSilences
	clock      *fakeClock
	audit      *fakeAudit
	queue      *fakeTwins
	meter      *fakeMeter
	log        *testenv.Output
	deps       parts
	api        *api.API
	url        string
	client     *http.Client
}

// setup serves an API that the changes were made to.
func setup(t *testing.T, changes ...func(*parts)) *bundle {
	t.Helper()
	b := newBundle(changes...)
	server := httptest.NewServer(b.api)
	b.url, b.client = server.URL, server.Client()
	t.Cleanup(server.Close)
	return b
}

// newBundle makes an API without a server, for handle.
func newBundle(changes ...func(*parts)) *bundle {
	b := &bundle{
		inbox: newFakeInbox(page.Page{Version: "v0", Cursor: "c0"}), catalogue: newFakeCatalogue(), queue: newFakeTwins(), meter: &fakeMeter{},
		log: &testenv.Output{}, book: newFakeBook(), marks: &fakeMarks{}, reads: &fakeReads{}, sends: newFakeSends(),
		deliveries: someDeliveries(), silences: someSilences(), clock: newFakeClock(), audit: &fakeAudit{},
	}
	b.deps = parts{
		Inbox: b.inbox, Catalogue: b.catalogue, Queues: map[string]view.ServedQueue{"replenishment": {Queue: b.queue, Timezone: "Asia/Shanghai", Dedupe: "day", Events: &item.Events{Sink: "gateway", On: []item.Event{item.EventReadyAgain, item.EventDead}}}}, Auth: auth.None{}, Tokens: &fakeTokens{}, Gatherer: prometheus.NewRegistry(), Meter: b.meter,
		Audit: b.audit, Book: b.book, Marks: b.marks, Reads: b.reads, RuleCount: ruleCount, Deliveries: b.deliveries, Sinks: someSinks(), Silences: b.silences.served(), Clock: b.clock.served(), Log: &operate.Log{Node: "one", Level: new(slog.LevelVar)}, Drain: &fakeDrain{},
		Sends: send.Sends{Send: b.sends.send, Sent: b.sends.told, Wake: b.sends.wake, Targets: targets, Now: func() time.Time { return sentAt }},
		Rules: &fakeRules{}, RuleSource: func(_ context.Context, id string) (*wire.RuleSource, error) {
			return &wire.RuleSource{Rule: id, Text: "id: " + id}, nil
		},
		Status:  func(context.Context) (wire.StatusReport, error) { return wire.StatusReport{}, nil },
		Ready:   func(context.Context) error { return nil },
		Logger:  slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Version: "test", Overview: newFakeOverview().served(),
	}
	for _, change := range changes {
		change(&b.deps)
	}
	b.api = newAPI(&b.deps)
	return b
}

// handle calls the handler without a connection; headers are name, value, …
func (b *bundle) handle(t *testing.T, path string, headers ...string) answer {
	t.Helper()
	return b.handleBody(t, http.MethodGet, path, "", headers...)
}

// handleBody is handle with a method and a body.
func (b *bundle) handleBody(t testing.TB, method, path, body string, headers ...string) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Host = "localhost"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	b.api.ServeHTTP(rec, r)
	return answer{rec.Code, rec.Header(), rec.Body.String()}
}

// answer is a response that was read.
type answer struct {
	status int
	header http.Header
	body   string
}

// do makes a request; headers are name, value, …
func (b *bundle) do(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

func (b *bundle) get(t *testing.T, path string, headers ...string) answer {
	t.Helper()
	return b.do(t, http.MethodGet, path, "", headers...)
}

const pollPath = "/api/v1/notices?warehouse=119240&subscriber=user:1"

// bin is the notice of the documentation.
func bin() notice.View {
	created := time.Date(2026, 6, 1, 0, 10, 0, 0, time.UTC)
	return notice.View{Score: created.UnixMicro(), Notice: &notice.Notice{
		ID: "n_abc", Type: "REP_NOTICE", TypeID: 124719, Warehouse: "119240", Rule: "negative-bin-stock", Scope: "119240",
		Key: `[119240,"A-01","S1"]`, Episode: "1780272600000000", Status: notice.Firing, Priority: 3, Modal: "popup",
		Title: "Bin A-01 is at -3", Body: "S1 in A-01 went to -3 in wave 77. Replenish <it> & go.",
		Texts:  map[string]notice.Text{"zh": {Title: "货位 A-01 为 -3", Body: "请补货"}},
		Data:   []notice.Field{{Name: "bin", Value: "A-01"}, {Name: "sku", Value: "S1"}, {Name: "qty", Value: "-3"}},
		Labels: map[string]string{"area": "replenishment"}, Count: 1, CreatedAt: created, ExpiresAt: created.Add(24 * time.Hour),
	}}
}

// onePage is a page with that notice.
func onePage() page.Page {
	return page.Page{Notices: []notice.View{bin()}, Cursor: "c1", Unread: 3, Version: "v1", Clock: bin().Score, Settled: math.MaxInt64}
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// fakeMeter remembers the outcomes.
type fakeMeter struct {
	mu       sync.Mutex
	outcomes []string
	requests []string
}

func (f *fakeMeter) PollDone(outcome string, _ time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outcomes = append(f.outcomes, outcome)
}

func (f *fakeMeter) NoticeMade(noticeType, status string) {
	f.PollDone(noticeType+" "+status, 0)
}

func (f *fakeMeter) RequestDone(operation string, status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, fmt.Sprint(operation, " ", status))
}

func (f *fakeMeter) SampleFailed() { f.PollDone("unsampled", 0) }

func (f *fakeMeter) StreamOpened() { f.PollDone("stream", 0) }

func (f *fakeMeter) StreamEnded(reason string) { f.PollDone("stream "+reason, 0) }

func (f *fakeMeter) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.outcomes
}
