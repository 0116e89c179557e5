package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// heard is a notice as a client got it.
type heard struct {
	ID     string `json:"id"`
	Rule   string `json:"rule"`
	Key    string `json:"key"`
	Status string `json:"status"`
}

// client polls the notices of a warehouse as a WMS does: with the cursor that it was given, at whichever node it finds,
// whatever happens to that one.
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

// follow has a client for each of the warehouses ask again and again, until stop is called. ask tells whether it went well.
func (c *cluster) follow(warehouses []string, ask func(context.Context, *client, *rand.Rand) bool) (list []*client, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for i, w := range warehouses {
		one := &client{c: c, warehouse: w, window: map[string]bool{}, seen: map[string]bool{}}
		one.http.Transport = &http.Transport{}
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

// query is the next poll, of whatever length it pleases.
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

// poll asks once and tells whether there was a page.
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

// answered tells whether the client got what it asked for, and notes why not.
func (cl *client) answered(ctx context.Context, code int, err error) bool {
	switch {
	case ctx.Err() != nil:
	case err != nil:
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

// take does with a page what the contract lets a client do.
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
