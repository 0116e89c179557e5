package api_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tallyman/internal/delivery"
	"tallyman/internal/testenv"
)

// soak is some writers, some clients that break off all the time, and nodes that come and go, on one Redis.
type soak struct {
	t      *testing.T
	redis  *testenv.RedisServer
	ledger *quietLedger
	url    atomic.Value // of the node that is there, string
	stop   func()       // ends it
}

// Whatever breaks off, a client that comes back with the last id gets all notices, each once, in the order of delivery. After the
// loss of Redis it is told so, and then gets all of them from the beginning.
func TestStreamsLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		loses := seed%2 == 1
		t.Run(fmt.Sprintf("seed %d, losses %v", seed, loses), func(t *testing.T) {
			t.Parallel()
			s := &soak{t: t, redis: testenv.Redis(t), ledger: &quietLedger{}}
			s.restart()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var clients []*restless
			var reading, writing sync.WaitGroup
			for i, query := range []string{"subscriber=user:1", "subscriber=user:1&subscriber=role:k", "subscriber=user:1&subscriber=role:k", "subscriber=role:k"} {
				c := &restless{soak: s, query: query, random: rand.New(rand.NewPCG(seed, uint64(i)))}
				clients = append(clients, c)
				reading.Go(func() { c.run(ctx) })
			}
			writer := newNode(t, s.redis.Addr, s.ledger)
			for w := range 3 {
				random := rand.New(rand.NewPCG(seed, 100+uint64(w)))
				writing.Go(func() { write(t, writer, w, random) })
			}
			random := rand.New(rand.NewPCG(seed, 200))
			for range 2 {
				testenv.Eventually(t, func() bool { return random.IntN(20) == 0 }, time.Minute)
				s.restart()
				if loses {
					if err := writer.client.FlushAll(t.Context()).Err(); err != nil {
						t.Error(err)
					}
				}
			}
			writing.Wait()
			insist(t, writer, []string{"role:k", "user:1"}, last)
			for _, c := range clients {
				c.complete()
			}
			stop()
			reading.Wait()
			s.stop()
			for _, c := range clients {
				c.verify(loses)
			}
		})
	}
}

// write delivers notices, some at once, to this or that inbox or to both.
func write(t *testing.T, to *realInbox, writer int, random *rand.Rand) {
	t.Helper()
	for i := range 40 {
		titles := make([]string, 1+random.IntN(5))
		for j := range titles {
			titles[j] = fmt.Sprintf("%d.%d.%d", writer, i, j)
		}
		who := [][]string{{"user:1"}, {"role:k"}, {"role:k", "user:1"}, {"user:2"}}[random.IntN(4)]
		insist(t, to, who, titles...)
	}
}

// last is the title of what is delivered when all else is recorded and nothing will be lost any more: a window that has it is not
// one that a loss has ended, and of which the client has not heard yet.
const last = "last"

// insist delivers notices as the engine does while the index is away.
func insist(t *testing.T, to *realInbox, who []string, titles ...string) {
	t.Helper()
	for to.tryDeliver(t.Context(), "119240", who, titles...) != nil {
		if t.Context().Err() != nil {
			return
		}
	}
}

// restart replaces the node by another one.
func (s *soak) restart() {
	s.t.Helper()
	in := newNode(s.t, s.redis.Addr, s.ledger)
	b := newBundle(func(d *parts) { d.Inbox = in })
	ln, err := (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- b.api.Serve(ctx, ln) }()
	s.url.Store("http://" + ln.Addr().String())
	if s.stop != nil {
		s.stop()
	}
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			s.t.Errorf("Serve: %v", err)
		}
	})
	s.t.Cleanup(s.stop)
}

// restless is a client that breaks off after a few events and comes back with the last id.
type restless struct {
	*soak

	query  string
	random *rand.Rand
	last   string

	mu      sync.Mutex
	windows [][]string // titles, anew after each reset
}

func (c *restless) run(ctx context.Context) {
	c.windows = [][]string{nil}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for ctx.Err() == nil {
		c.session(ctx, &client)
	}
}

// session reads one stream for a while.
func (c *restless) session(ctx context.Context, client *http.Client) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url.Load().(string)+"/api/v1/notices/stream?warehouse=119240&"+c.query, http.NoBody)
	if err != nil {
		c.t.Error(err)
		return
	}
	if c.last != "" {
		r.Header.Set("Last-Event-ID", c.last)
	}
	resp, err := client.Do(r)
	if err != nil {
		return // the node has gone
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if resp.StatusCode != http.StatusServiceUnavailable {
			c.t.Errorf("status %d", resp.StatusCode)
		}
		return
	}
	left := 1 + c.random.IntN(30)
	readEvents(resp.Body, func(e event) bool {
		c.take(e)
		left--
		return left > 0
	})
}

func (c *restless) take(e event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := len(c.windows) - 1
	switch e.name {
	case "notice":
		c.windows[at] = append(c.windows[at], e.title(c.t))
	case "reset":
		c.windows = append(c.windows, nil)
	}
	if e.id != "" {
		c.last = e.id
	}
}

// heard is the window of now.
func (c *restless) heard() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.windows[len(c.windows)-1]
}

// mine tells whether one of the recipients is the client's.
func (c *restless) mine(recipients []string) bool {
	return slices.ContainsFunc(recipients, func(r string) bool { return strings.Contains(c.query+"&", r+"&") })
}

// complete waits for the last notice: the client must have all by then.
func (c *restless) complete() {
	c.t.Helper()
	var got []string
	testenv.Eventually(c.t, func() bool {
		got = c.heard()
		return slices.Contains(got, last)
	}, time.Minute)
	if want := c.ledger.titles(c.mine); !slices.Equal(got, want) {
		c.t.Errorf("%s: the client has\n%v\nof\n%v", c.query, got, want)
	}
}

func (c *restless) verify(loses bool) {
	c.t.Helper()
	if !loses && len(c.windows) > 1 {
		c.t.Errorf("%s: %d resets, and nothing was lost", c.query, len(c.windows)-1)
	}
	for _, window := range c.windows {
		if seen := slices.Compact(slices.Sorted(slices.Values(window))); len(seen) != len(window) {
			c.t.Errorf("%s: a window has something twice: %v", c.query, window)
		}
	}
}

// titles returns the titles of the recorded notices for these recipients, in the order of delivery.
func (l *quietLedger) titles(mine func(recipients []string) bool) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.Clone(l.delivered)
	slices.SortFunc(list, func(a, b delivery.ScoredDelivery) int { return cmp.Compare(a.Score, b.Score) })
	var out []string
	for _, d := range list {
		if mine(d.Recipients) {
			out = append(out, d.Notice.Title)
		}
	}
	return out
}
