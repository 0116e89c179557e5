//go:build site

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tallyman/internal/testenv"
)

// longestWait is how long a notice may wait for its lane while nodes are replaced.
const longestWait = 2 * time.Second

// TestSiteRollingRestarts replaces both nodes behind HAProxy three times, while people poll and stream and business
// systems send. Nobody gets an error, each notice comes, and no lane stands still for long.
func TestSiteRollingRestarts(t *testing.T) {
	t.Parallel()
	c := newWork(t)
	token := c.admin()
	c.configure("auth: {mode: none}", "auth: {mode: token}")
	const places = 2
	var nodes [places]*node
	var settings [places][]string
	for place := range places {
		settings[place] = []string{drainDelay(5 * time.Second), "TALLYMAN_HTTP__LISTEN=127.0.0.1:" + freePort(t)}
		nodes[place] = c.start(place, settings[place]...)
	}
	haproxy := siteProxies[slices.IndexFunc(siteProxies, func(p siteProxy) bool { return p.name == "haproxy" })]
	p := &siteClient{t: t, name: haproxy.name, token: token, client: haproxy.start(t, nodes[:]...)}
	testenv.Eventually(t, func() bool { status, _ := p.call(http.MethodGet, "/readyz", nil); return status == http.StatusOK }, 30*time.Second)

	people := newCrowd(p)
	people.gather()
	for range 3 {
		for place, n := range nodes {
			n.stop()
			nodes[place] = c.start(place, settings[place]...)
			testenv.Eventually(t, func() bool { code, _ := nodes[place].readyz(); return code == http.StatusOK }, 30*time.Second)
			pause(3 * time.Second) // HAProxy sees that the node is back
		}
	}
	people.disperse()
	people.verify()
	for _, n := range nodes {
		n.stop()
	}
	waited := c.longestWaits()
	t.Logf("%d requests, %d streams; the longest wait of a notice for its delivery was %s", people.requests, people.streams, waited[0])
	if waited[0] > longestWait {
		t.Errorf("notices waited for their delivery: %s", waited[:min(len(waited), 10)])
	}
}

// longestWaits returns how long the notices have waited between their commit and their delivery, the longest first.
func (c *cluster) longestWaits() (list []time.Duration) {
	c.t.Helper()
	db, err := pgx.Connect(c.t.Context(), c.ledgerURL)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = db.Close(c.t.Context()) }()
	rows, err := db.Query(c.t.Context(), `SELECT d.ended_at - n.created_at FROM deliveries d JOIN notices n ON n.id = d.notice_id WHERE d.ended_at > 0 ORDER BY 1 DESC`)
	if err != nil {
		c.t.Fatal(err)
	}
	waited, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(waited) == 0 {
		c.t.Fatalf("%d deliveries: %v", len(waited), err)
	}
	for _, micros := range waited {
		list = append(list, time.Duration(micros)*time.Microsecond)
	}
	return list
}

// crowd are clients of a site: those who poll, those who stream, and one who sends.
type crowd struct {
	*siteClient
	cancel  context.CancelFunc
	sending sync.WaitGroup
	enough  chan struct{} // Closed when nobody sends any more.
	all     sync.WaitGroup

	mu       sync.Mutex
	faults   []string
	sent     []string            // ids of notices
	seen     map[string][]string // ids by who has seen them
	requests int
	streams  int
}

const (
	crowdPollers = 10
	crowdStreams = 10
)

func newCrowd(p *siteClient) *crowd {
	w := &crowd{siteClient: p, seen: map[string][]string{}, enough: make(chan struct{})}
	return w
}

func (w *crowd) gather() {
	ctx, cancel := context.WithCancel(w.t.Context())
	w.cancel = cancel
	for i := range crowdPollers {
		w.all.Go(func() { w.poll(ctx, fmt.Sprintf("poller-%d", i)) })
	}
	for i := range crowdStreams {
		w.all.Go(func() { w.stream(ctx, fmt.Sprintf("streamer-%d", i)) })
	}
	w.sending.Go(func() { w.send(ctx) })
}

// disperse ends all clients once they have seen the last notice.
func (w *crowd) disperse() {
	w.t.Helper()
	close(w.enough)
	w.sending.Wait()
	for deadline := time.Now().Add(20 * time.Second); !w.informed() && time.Now().Before(deadline); {
		pause(100 * time.Millisecond)
	}
	w.cancel()
	w.all.Wait()
}

// informed tells whether everybody has seen the last notice.
func (w *crowd) informed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ids := range w.seen {
		if !slices.Contains(ids, w.sent[len(w.sent)-1]) {
			return false
		}
	}
	return len(w.seen) == crowdPollers+crowdStreams
}

func (w *crowd) fault(ctx context.Context, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() == nil {
		w.faults = append(w.faults, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	}
}

func (w *crowd) count(who string, ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests++
	w.seen[who] = append(w.seen[who], ids...)
}

// send sends a notice to everybody again and again, as a business system does.
func (w *crowd) send(ctx context.Context) {
	for i := 0; ; i++ {
		select {
		case <-w.enough:
			return
		default:
		}
		body := fmt.Sprintf(`{"notices":[{"type":"MOVE_NOTICE","warehouse":"119240","title":"notice %d","recipients":["user:crowd"]}]}`, i)
		resp, err := w.begin(ctx, http.MethodPost, "/api/v1/notices", strings.NewReader(body))
		var answer struct {
			Notices []struct{ ID string } `json:"notices"`
		}
		if status, err := decoded(resp, err, &answer); err != nil || status != http.StatusCreated || len(answer.Notices) != 1 {
			w.fault(ctx, "send: %d %v", status, err)
		} else {
			w.mu.Lock()
			w.requests++
			w.sent = append(w.sent, answer.Notices[0].ID)
			w.mu.Unlock()
		}
		pause(100 * time.Millisecond)
	}
}

// decoded reads a whole answer.
func decoded(resp *http.Response, err error, answer any) (status int, _ error) {
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return resp.StatusCode, json.NewDecoder(resp.Body).Decode(answer)
}

// poll waits for news again and again.
func (w *crowd) poll(ctx context.Context, who string) {
	cursor := ""
	for ctx.Err() == nil {
		query := url.Values{"warehouse": {"119240"}, "subscriber": {"user:crowd"}, "wait": {"20s"}}
		if cursor != "" {
			query.Set("after", cursor)
		}
		resp, err := w.begin(ctx, http.MethodGet, "/api/v1/notices?"+query.Encode(), nil)
		var page struct {
			Cursor  string
			Reset   bool
			Notices []heard
		}
		if status, err := decoded(resp, err, &page); err != nil || status != http.StatusOK || page.Reset && cursor != "" {
			w.fault(ctx, "%s: %d %v, reset %v", who, status, err, page.Reset)
			continue
		}
		cursor = page.Cursor
		var ids []string
		for _, n := range page.Notices {
			ids = append(ids, n.ID)
		}
		w.count(who, ids)
	}
}

// stream follows a stream, and goes on with the last id where the node says that it ends.
func (w *crowd) stream(ctx context.Context, who string) {
	last := ""
	for ctx.Err() == nil {
		headers := []string{"Accept", "text/event-stream"}
		if last != "" {
			headers = append(headers, "Last-Event-ID", last)
		}
		resp, err := w.begin(ctx, http.MethodGet, "/api/v1/notices/stream?warehouse=119240&subscriber=user:crowd", nil, headers...)
		if err != nil || resp.StatusCode != http.StatusOK {
			w.fault(ctx, "%s: %v %v", who, resp, err)
			continue
		}
		w.mu.Lock()
		w.streams++
		w.mu.Unlock()
		ended, event := false, ""
		for line := range linesOf(resp.Body) {
			field, value, _ := strings.Cut(line, ": ")
			switch field {
			case "event":
				event = value
				ended = ended || value == "end"
			case "id":
				last = value
			case "data":
				var n heard
				if event == "notice" && json.Unmarshal([]byte(value), &n) == nil {
					w.count(who, []string{n.ID})
				}
			}
		}
		_ = resp.Body.Close()
		if !ended {
			w.fault(ctx, "%s: the stream broke off", who)
		}
	}
}

// verify proves that nobody has met an error, and that everybody has seen each notice.
func (w *crowd) verify() {
	w.t.Helper()
	for _, f := range w.faults[:min(len(w.faults), 20)] {
		w.t.Error(f)
	}
	for who, ids := range w.seen {
		missed := 0
		for _, id := range w.sent {
			if !slices.Contains(ids, id) {
				missed++
			}
		}
		if missed > 0 {
			w.t.Errorf("%s has missed %d of %d notices", who, missed, len(w.sent))
		}
	}
	if len(w.faults) > 20 {
		w.t.Errorf("and %d more", len(w.faults)-20)
	}
}
