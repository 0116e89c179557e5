package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tallyman/internal/cli"
)

// heard is a notice as a client got it.
type heard struct {
	ID     string `json:"id"`
	Rule   string `json:"rule"`
	Key    string `json:"key"`
	Status string `json:"status"`
}

// client polls the notices of a warehouse as a WMS does: with the cursor of the last answer, at any node, whatever
// happens to the node.
type client struct {
	c         *cluster
	warehouse string
	http      http.Client

	cursor string
	window map[string]bool // ids since the last reset

	mu       sync.Mutex
	notices  []heard // each once, in the order of their coming
	seen     map[string]bool
	repeated []string // ids that came twice without a reset between
	faults   []string // answers that there should never be
	resets   int
	refused  int // polls that found no node, or lost it
	later    int // polls answered 503
}

// clients polls each of the warehouses until stop is called.
func (c *cluster) clients(warehouses ...string) (list []*client, stop func()) {
	return c.follow(warehouses, func(ctx context.Context, cl *client, random *rand.Rand) bool {
		cl.http.Timeout = 7 * time.Second // longer than a node waits for Redis before it answers 503
		return cl.poll(ctx, cl.c.base(random.IntN(100)), cl.query(random))
	})
}

// follow runs a client for each warehouse. Each calls ask again and again until stop is called. ask returns whether it
// succeeded.
func (c *cluster) follow(warehouses []string, ask func(context.Context, *client, *rand.Rand) bool) (list []*client, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for i, w := range warehouses {
		one := &client{c: c, warehouse: w, window: map[string]bool{}, seen: map[string]bool{}}
		one.http.Transport = &http.Transport{}
		if c.front != nil {
			one.http.Transport = c.front.transport
		}
		list = append(list, one)
		random := rand.New(rand.NewPCG(1, uint64(i)))
		running.Go(func() { one.run(ctx, random, ask) })
	}
	stop = func() {
		cancel()
		running.Wait()
		for _, one := range list {
			one.http.CloseIdleConnections()
		}
	}
	c.t.Cleanup(stop)
	return list, stop
}

func (cl *client) run(ctx context.Context, random *rand.Rand, ask func(context.Context, *client, *rand.Rand) bool) {
	for ctx.Err() == nil {
		if ask(ctx, cl, random) {
			continue
		}
		select { // as a client that is told to come again
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// query returns the next poll, with a random size and wait.
func (cl *client) query(random *rand.Rand) url.Values {
	q := url.Values{
		"warehouse": {cl.warehouse}, "subscriber": {"role:keeper", "user:7"},
		"limit": {strconv.Itoa(1 + random.IntN(40))}, "wait": {strconv.Itoa(random.IntN(800)) + "ms"},
	}
	if cl.cursor != "" {
		q.Set("after", cl.cursor)
	}
	return q
}

type page struct {
	Notices []heard `json:"notices"`
	Cursor  string  `json:"cursor"`
	Reset   bool    `json:"reset"`
}

// poll polls once and returns whether there was a page.
func (cl *client) poll(ctx context.Context, base string, q url.Values) bool {
	code, p, err := cl.get(ctx, base+"/api/v1/notices?"+q.Encode())
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if !cl.answered(ctx, code, err) {
		return false
	}
	cl.take(p)
	return true
}

// answered tells whether the client got an answer, and records why not.
func (cl *client) answered(ctx context.Context, code int, err error) bool {
	switch {
	case ctx.Err() != nil:
	case err != nil, cl.c.front != nil && code == http.StatusBadGateway: // The proxy lost the node.
		cl.refused++
	case code == http.StatusServiceUnavailable:
		cl.later++
	case code != http.StatusOK:
		cl.faults = append(cl.faults, fmt.Sprintf("after cursor %q the answer is %d", cl.cursor, code))
	default:
		return true
	}
	return false
}

func (cl *client) get(ctx context.Context, at string) (code int, p page, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return 0, p, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := cl.http.Do(req)
	if err != nil {
		return 0, p, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, p, nil
	}
	return resp.StatusCode, p, json.NewDecoder(resp.Body).Decode(&p)
}

// take handles a page as the contract of the API says.
func (cl *client) take(p page) {
	if p.Reset {
		cl.resets++
		clear(cl.window)
	}
	for _, n := range p.Notices {
		if cl.window[n.ID] {
			cl.repeated = append(cl.repeated, n.ID)
		}
		cl.window[n.ID] = true
		if !cl.seen[n.ID] {
			cl.seen[n.ID] = true
			cl.notices = append(cl.notices, n)
		}
	}
	cl.cursor = p.Cursor
}

// latest returns the status of the last notice of each key of a rule, and how many notices of the rule came.
func (cl *client) latest(rule string) (status map[string]string, count int) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	status = map[string]string{}
	for _, n := range cl.notices {
		if n.Rule == rule {
			status[n.Key] = n.Status
			count++
		}
	}
	return status, count
}

// streams follows each warehouse as a stream, at any node, until stop is called. When a stream ends, another one goes
// on after the last event.
func (c *cluster) streams(warehouses ...string) (list []*client, stop func()) {
	return c.follow(warehouses, func(ctx context.Context, cl *client, random *rand.Rand) bool {
		cl.stream(ctx, cl.c.base(random.IntN(100)))
		return false // it has ended
	})
}

// stream takes events until the stream ends.
func (cl *client) stream(ctx context.Context, base string) {
	q := url.Values{"warehouse": {cl.warehouse}, "subscriber": {"role:keeper", "user:7"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/v1/notices/stream?"+q.Encode(), http.NoBody)
	code := 0
	if err == nil {
		req.Header.Set("Accept", "text/event-stream")
		if cl.cursor != "" {
			req.Header.Set("Last-Event-ID", cl.cursor)
		}
		var resp *http.Response
		if resp, err = cl.http.Do(req); err == nil {
			defer resp.Body.Close()
			if code = resp.StatusCode; code == http.StatusOK {
				cl.events(resp.Body)
				err = io.EOF // streams end with their node
			}
		}
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.answered(ctx, code, err)
}

// events takes one event after the other. It ignores an event that breaks off.
func (cl *client) events(body io.Reader) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	event := map[string]string{}
	for lines.Scan() {
		if lines.Text() == "" {
			cl.event(event)
			clear(event)
			continue
		}
		name, value, _ := strings.Cut(lines.Text(), ":")
		event[name] = strings.TrimPrefix(value, " ")
	}
}

// event takes an event as a page of its own.
func (cl *client) event(fields map[string]string) {
	p := page{Cursor: fields["id"], Reset: fields["event"] == "reset"}
	if p.Cursor == "" {
		p.Cursor = cl.cursor
	}
	if fields["event"] == "notice" {
		var n heard
		if err := json.Unmarshal([]byte(fields["data"]), &n); err != nil {
			cl.fault(fmt.Sprintf("the event %q: %v", fields["data"], err))
		}
		p.Notices = []heard{n}
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.take(p)
}

func (cl *client) fault(text string) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.faults = append(cl.faults, text)
}

// TestGeneratedClientsMakeARoundTrip generates a Go and a TypeScript client of the document that a node serves,
// compiles both strictly, and runs programs that use them against the node. They know only the document.
func TestGeneratedClientsMakeARoundTrip(t *testing.T) { //nolint:tparallel // its clients use the same warehouse, queue and rule, one after the other
	t.Parallel()
	c := newWork(t)
	token := c.admin()
	c.configure("auth: {mode: none}", "auth: {mode: token}")
	n := c.start(0)
	dir := t.TempDir()
	document := filepath.Join(dir, "openapi.json")
	if err := os.WriteFile(document, n.document(token), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("../../scripts/clients.sh", "build", document, dir).CombinedOutput(); err != nil {
		t.Fatalf("clients of the document: %v\n%s", err, out)
	}
	for name, command := range map[string][]string{
		"go": {filepath.Join(dir, "go", "roundtrip")}, "typescript": {"node", filepath.Join(dir, "typescript", "out", "roundtrip.js")},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
			cmd.Env = append(os.Environ(), "TALLYMAN_URL="+n.base, "TALLYMAN_TOKEN="+token)
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != name+" client: all is well\n" {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// admin makes a token with every right, in the ledger.
func (c *cluster) admin() string {
	c.t.Helper()
	var out, errs bytes.Buffer
	args := []string{"tokens", "create", "--config", filepath.Join(c.dir, configFile), "--subject", "user:admin", "--access", "admin"}
	if code := cli.Run(c.t.Context(), cli.Process{Args: args, In: strings.NewReader(""), Out: &out, Err: &errs}, cli.Default()); code != 0 {
		c.t.Fatalf("tallyman %s: %d %s", strings.Join(args, " "), code, &errs)
	}
	return strings.TrimSpace(out.String())
}

// document returns the OpenAPI document that the node serves.
func (n *node) document(token string) []byte {
	n.t.Helper()
	r, err := http.NewRequestWithContext(n.t.Context(), http.MethodGet, n.base+"/openapi.json", http.NoBody)
	if err != nil {
		n.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		n.t.Fatal(err)
	}
	defer resp.Body.Close()
	document, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		n.t.Fatalf("%d %v %s", resp.StatusCode, err, document)
	}
	return document
}

// shown returns the ids of the notices that a client shows.
func (cl *client) shown() map[string]bool {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	ids := map[string]bool{}
	for id := range cl.window {
		ids[id] = true
	}
	return ids
}

func (cl *client) hasReset() int {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	return cl.resets
}
